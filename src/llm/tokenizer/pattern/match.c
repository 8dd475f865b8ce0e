/* The matcher of patterns: steps in order, and frames to come back to. After many steps it also remembers
 * which (step, place) failed, and which led a look to its end: looks over a long run of digits, one behind
 * each group, take linear time. What is on the way to any other match is forgotten. */

static void oxi_matcher_reset(oxi_matcher *m, size_t length) {
    oxi_free(m->failed, m->failed_words * sizeof *m->failed);
    m->failed = NULL;
    m->failed_words = 0;
    m->frame_count = m->open_count = 0;
    m->steps = 0;
    m->most = (uint64_t)length * 32 + 20000;
    m->status = OX_OK;
}

static void oxi_matcher_free(oxi_matcher *m) {
    oxi_free(m->frames, m->frame_room * sizeof *m->frames);
    oxi_free(m->open, m->open_room * sizeof *m->open);
    oxi_free(m->failed, m->failed_words * sizeof *m->failed);
    memset(m, 0, sizeof *m);
}

/* What one search works on. */
typedef struct oxi_match {
    const oxi_pattern *pattern;
    oxi_matcher *matcher;
    const char *text;
    size_t length;
} oxi_match;

static bool oxi_match_push(oxi_match *s, int32_t step, int32_t class_index, size_t at, size_t low) {
    oxi_matcher *m = s->matcher;
    if (m->frame_count == m->frame_room) {
        void *grown = oxi_grow(m->frames, &m->frame_room, m->frame_count + 1, sizeof *m->frames, false);
        if (!grown) {
            m->status = OX_ERR_NOMEM;
            return false;
        }
        m->frames = (oxi_frame *)grown;
    }
    oxi_frame *frame = &m->frames[m->frame_count++];
    frame->step = step;
    frame->class_index = class_index;
    frame->at = (uint32_t)at;
    frame->low = (uint32_t)low;
    return true;
}

/* Remembers that this (step, place) is being tried; false: it has failed before. */
static bool oxi_match_enter(oxi_match *s, int32_t step, size_t at) {
    oxi_matcher *m = s->matcher;
    const size_t bit = (size_t)step * (s->length + 1) + at;
    if (m->failed[bit / 64] >> (bit % 64) & 1) return false;
    m->failed[bit / 64] |= (uint64_t)1 << (bit % 64);
    void *grown = oxi_grow(m->open, &m->open_room, 4 * (m->open_count + 1), sizeof *m->open, false);
    if (!grown) {
        m->status = OX_ERR_NOMEM;
        return false;
    }
    m->open = (uint32_t *)grown;
    uint32_t *entry = m->open + 4 * m->open_count++;
    entry[0] = (uint32_t)step;
    entry[1] = (uint32_t)at;
    entry[2] = (uint32_t)m->frame_count;
    return true;
}

/* What was entered since the last frame was pushed has failed for good when it comes to that frame. */
static void oxi_match_settle(oxi_matcher *m, size_t from) {
    while (m->open_count > from && m->open[4 * (m->open_count - 1) + 2] >= m->frame_count) m->open_count--;
}

/* A body has matched: all that is still open was on its way there. Only that it did counts for a look. */
static void oxi_match_succeed(oxi_match *s, size_t from, bool look) {
    oxi_matcher *m = s->matcher;
    for (; m->open_count > from; m->open_count--) {
        const uint32_t *entry = m->open + 4 * (m->open_count - 1);
        const size_t bit = (size_t)entry[0] * (s->length + 1) + entry[1];
        m->failed[bit / 64] &= ~((uint64_t)1 << (bit % 64));
        if (look) m->passed[bit / 64] |= (uint64_t)1 << (bit % 64);
    }
}

/* Whether this step of a look led to its end before. */
static bool oxi_match_has_passed(const oxi_match *s, int32_t step, size_t at) {
    const size_t bit = (size_t)step * (s->length + 1) + at;
    return (s->matcher->passed[bit / 64] >> (bit % 64) & 1) != 0;
}

static size_t oxi_step_back(const char *text, size_t at) {
    do at--;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80);
    return at;
}

/* Takes up to `most` characters of a class (-1 = any number). Returns where it ends, and their count. */
static size_t oxi_match_run(const oxi_match *s, int32_t index, size_t at, int32_t most, int32_t *count) {
    const oxi_class *c = &s->pattern->classes[index];
    int32_t taken = 0;
    while (at < s->length && taken != most) {
        const unsigned char byte = (unsigned char)s->text[at];
        if (byte < 128) {
            if (!c->ascii[byte]) break;
            at++;
        } else {
            size_t next = at;
            if (!oxi_class_has(s->pattern, index, oxi_utf8_code(s->text, s->length, &next))) break;
            at = next;
        }
        if (taken < INT32_MAX) taken++;
    }
    *count = taken;
    s->matcher->steps += (uint32_t)taken / 8; /* long runs at every place would take quadratic time */
    return at;
}

static bool oxi_match_is_word(const oxi_match *s, size_t at) {
    const uint32_t code = oxi_utf8_code(s->text, s->length, &at);
    if (code < 128 || (oxi_category_bit(s->pattern->unicode, code) & OXI_WORD_KINDS))
        return (oxi_category_bit(s->pattern->unicode, code) & OXI_WORD_KINDS) != 0;
    const oxi_named_range *more = oxi_named_range_of("word");
    return oxi_in_ranges(oxi_class_ranges + more->first, more->count, code);
}

static bool oxi_match_edge(const oxi_match *s, const oxi_step *step, size_t at) {
    const bool ends = at == s->length, line = !ends && s->text[at] == '\n';
    if (step->kind == OXI_STEP_START) return at == 0;
    if (step->kind == OXI_STEP_END) return ends;
    if (step->kind == OXI_STEP_LINE_START) return at == 0 || (!ends && s->text[at - 1] == '\n');
    if (step->kind == OXI_STEP_LINE_END) return ends || line;
    if (step->kind == OXI_STEP_LAST_LINE) return ends || (line && at + 1 == s->length);
    if (step->kind == OXI_STEP_BEFORE) {
        size_t before = at ? oxi_step_back(s->text, at) : 0;
        const bool has =
            at && oxi_class_has(s->pattern, step->class_index, oxi_utf8_code(s->text, s->length, &before));
        return has != step->negated;
    }
    const bool left = at > 0 && oxi_match_is_word(s, oxi_step_back(s->text, at));
    const bool right = at < s->length && oxi_match_is_word(s, at);
    return (left != right) != step->negated;
}

/* `look`: where it ends does not count. */
static bool oxi_match_steps(oxi_match *s, int32_t step, size_t at, size_t *end, int depth, bool look);

/* One look: its body with frames of its own. */
static bool oxi_match_look(oxi_match *s, const oxi_step *step, size_t at, int depth) {
    size_t end;
    const oxi_step *body = &s->pattern->steps[step->other];
    s->matcher->steps += (uint32_t)step->min / 8;
    for (int32_t i = 0; i < step->min; i++) {
        if (at == 0) return step->negated;
        at = oxi_step_back(s->text, at);
    }
    if (body->kind == OXI_STEP_RUN && body->min == 1 &&
        s->pattern->steps[body->next].kind == OXI_STEP_MATCH) { /* one character is enough */
        int32_t count;
        (void)oxi_match_run(s, body->class_index, at, 1, &count);
        return (count == 1) != step->negated;
    }
    if (depth > OXI_PATTERN_DEPTH) return false;
    return oxi_match_steps(s, step->other, at, &end, depth + 1, true) != step->negated;
}

/* The same, but what the body takes is taken. */
static bool oxi_match_atomic(oxi_match *s, const oxi_step *step, size_t *at, int depth) {
    size_t end;
    if (depth > OXI_PATTERN_DEPTH || !oxi_match_steps(s, step->other, *at, &end, depth + 1, false))
        return false;
    *at = end;
    return true;
}

/* A run: where it ends first, with a frame for its other ends. SIZE_MAX = it fails. */
static size_t oxi_match_take(oxi_match *s, const oxi_step *step, size_t at) {
    int32_t count = 0;
    const size_t low = oxi_match_run(s, step->class_index, at, step->min, &count);
    if (count < step->min) return SIZE_MAX;
    if (step->max == step->min) return low;
    if (step->mode == OXI_LAZY) {
        if (!oxi_match_push(s, step->next, -2 - step->class_index, low,
                            step->max < 0 ? UINT32_MAX : (size_t)(step->max - step->min)))
            return SIZE_MAX;
        return low;
    }
    const size_t high =
        oxi_match_run(s, step->class_index, low, step->max < 0 ? -1 : step->max - step->min, &count);
    if (high > low && step->mode == OXI_GREEDY &&
        !oxi_match_push(s, step->next, step->class_index, high, low))
        return SIZE_MAX;
    return high;
}

/* The next thing to try from the last frame: its step, and the place. */
static int32_t oxi_match_resume(oxi_match *s, size_t *at) {
    oxi_matcher *m = s->matcher;
    oxi_frame *frame = &m->frames[m->frame_count - 1];
    const int32_t step = frame->step;
    if (frame->class_index == -1) {
        *at = frame->at;
        m->frame_count--;
    } else if (frame->class_index >= 0) { /* gives one back */
        *at = oxi_step_back(s->text, frame->at);
        frame->at = (uint32_t)*at;
        if (*at <= frame->low) m->frame_count--;
    } else { /* lazy: takes one more */
        int32_t count;
        *at = oxi_match_run(s, -2 - frame->class_index, frame->at, 1, &count);
        if (count == 0 || frame->low == 0) {
            m->frame_count--;
            return -1;
        }
        frame->at = (uint32_t)*at;
        if (frame->low != UINT32_MAX) frame->low--;
    }
    return step;
}

static bool oxi_match_steps(oxi_match *s, int32_t start, size_t at, size_t *end, int depth, bool look) {
    oxi_matcher *m = s->matcher;
    const size_t base = m->frame_count, open = m->open_count;
    int32_t index = start;
    for (;;) {
        const oxi_step *step = index >= 0 ? &s->pattern->steps[index] : NULL;
        bool goes_on = step != NULL;
        if (++m->steps > m->most) {
            m->status = OX_ERR_UNSUPPORTED;
            m->frame_count = base;
            return false;
        }
        const bool noted = step && m->failed && (step->kind == OXI_STEP_RUN || step->kind == OXI_STEP_CHOICE);
        if (noted && look && oxi_match_has_passed(s, index, at)) {
            m->frame_count = base;
            oxi_match_succeed(s, open, true);
            return true;
        }
        if (noted) goes_on = oxi_match_enter(s, index, at);
        if (goes_on) {
            switch ((oxi_step_kind)step->kind) {
            case OXI_STEP_MATCH:
                *end = at;
                m->frame_count = base;
                if (m->failed) oxi_match_succeed(s, open, look);
                return true;
            case OXI_STEP_RUN: {
                const size_t next = oxi_match_take(s, step, at);
                goes_on = next != SIZE_MAX;
                if (goes_on) at = next;
                break;
            }
            case OXI_STEP_CHOICE: goes_on = oxi_match_push(s, step->other, -1, at, 0); break;
            case OXI_STEP_LOOK: goes_on = oxi_match_look(s, step, at, depth); break;
            case OXI_STEP_ATOMIC: goes_on = oxi_match_atomic(s, step, &at, depth); break;
            default: goes_on = oxi_match_edge(s, step, at); break;
            }
        }
        if (m->status) {
            m->frame_count = base;
            return false;
        }
        if (goes_on) {
            index = step->next;
            continue;
        }
        if (m->frame_count == base) {
            m->open_count = open;
            return false;
        }
        if (m->failed) oxi_match_settle(m, open);
        index = oxi_match_resume(s, &at);
    }
}

/* From here on failures are remembered, and a text may take far more steps. */
static bool oxi_matcher_remember(oxi_match *s) {
    oxi_matcher *m = s->matcher;
    size_t bits = 0;
    if (m->failed || !oxi_mul_size(s->pattern->step_count, s->length + 1, &bits) || bits > (size_t)1 << 33) {
        m->status = oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: a pattern takes too many steps on this text");
        return false;
    }
    m->failed_words = 2 * (bits / 64 + 1);
    m->failed = (uint64_t *)oxi_calloc(m->failed_words, sizeof *m->failed);
    m->status = m->failed ? OX_OK : OX_ERR_NOMEM;
    if (!m->failed) m->failed_words = 0;
    m->passed = m->failed ? m->failed + m->failed_words / 2 : NULL;
    m->frame_count = m->open_count = 0;
    m->most = m->steps + ((uint64_t)s->length + 1) * 512 + 1000000;
    return m->failed != NULL;
}

static bool oxi_match_at(oxi_match *s, uint64_t which, size_t at, size_t *end) {
    const oxi_pattern *p = s->pattern;
    for (size_t i = 0; which; which >>= 1, i++) {
        if (!(which & 1)) continue;
        for (size_t k = i; k < (i < 63 ? i + 1 : p->start_count); k++) {
            if (oxi_match_steps(s, p->starts[k], at, end, 0, false)) return true;
            if (s->matcher->status == OX_ERR_UNSUPPORTED && oxi_matcher_remember(s)) k--;
            if (s->matcher->status) return false;
        }
    }
    return false;
}

static bool oxi_pattern_find(const oxi_pattern *pattern, oxi_matcher *matcher, const char *text,
                             size_t length, size_t from, size_t *start, size_t *end) {
    oxi_match s;
    s.pattern = pattern;
    s.matcher = matcher;
    s.text = text;
    s.length = length;
    if (pattern->loops && !matcher->failed && !oxi_matcher_remember(&s)) return false;
    for (size_t at = from; at <= length;) {
        const unsigned char byte = at < length ? (unsigned char)text[at] : 0;
        const uint64_t which = at == length ? (pattern->anchored ? pattern->first[128] : 0)
                                            : pattern->first[byte < 128 ? byte : 128];
        if (which && oxi_match_at(&s, which, at, end)) {
            *start = at;
            return true;
        }
        if (matcher->status) return false;
        if (at == length) return false;
        if (byte < 128)
            at++;
        else
            (void)oxi_utf8_code(text, length, &at);
    }
    return false;
}
