/* A stream of ids to text, of which nothing is taken back. Ids that may still be decoded otherwise are held
 * back (a run of bytes, the last word of BPEDecoder), then bytes (the start of a character), then what a
 * Strip behind Fuse may take off the end. Decoders for which that is not enough see all ids at the end. */

/* What holds for a tokenizer's list of decoders. */
typedef struct oxi_token_stream_way {
    bool pieces;    /* texts are pieces one behind the other */
    bool lossy;     /* bytes that are no UTF-8 become U+FFFD; else they stay */
    bool holds_all; /* until the end */
    bool holds_last;
    size_t bytes_at;            /* the decoder of byte tokens; the number of decoders: none */
    const oxi_pipe_step *strip; /* of the whole text; NULL = none */
    size_t steps;               /* before it */
} oxi_token_stream_way;

static oxi_token_stream_way oxi_token_stream_way_of(const ox_tokenizer *t) {
    oxi_token_stream_way way;
    bool fused = false;
    memset(&way, 0, sizeof way);
    way.steps = way.bytes_at = t->decoders.count;
    way.pieces = !t->from_json;
    for (size_t i = 0; i < t->decoders.count && t->from_json; i++) {
        const oxi_pipe_step *step = &t->decoders.list[i];
        const oxi_decode_row decode = step->row->decode;
        if (fused && decode == oxi_decode_strip && i + 1 == t->decoders.count) {
            way.strip = step;
            way.steps = i;
        } else if (decode == oxi_decode_fuse) {
            fused = true;
        } else if (fused || decode == oxi_decode_ctc) {
            way.holds_all = true;
        } else if (decode == oxi_decode_byte_fallback) {
            if (way.bytes_at < t->decoders.count) way.holds_all = true;
            way.bytes_at = i;
        } else if (decode == oxi_decode_byte_level) {
            way.lossy = fused = true;
            way.pieces = t->decoders.count == 1;
        } else if (decode == oxi_decode_bpe) {
            way.holds_last = true;
        }
    }
    if (way.bytes_at < t->decoders.count && (way.lossy || way.holds_last)) way.holds_all = true;
    if (way.holds_all) {
        way.steps = t->decoders.count;
        way.lossy = false; /* U+FFFD are in the text already */
        way.strip = NULL;
    }
    return way;
}

/* ---- ids ----------------------------------------------------------------------------------------------- */

/* Runs decoders on a part of a text. A Strip cuts each token that it sees. */
static ox_status oxi_token_stream_run(const ox_tokenizer *t, oxi_decode_list *list, size_t steps, bool first,
                                      bool last) {
    ox_status status = OX_OK;
    list->growth = oxi_growth_of(list->bytes[0].length);
    list->first = first;
    if (t->decoders.count == 0 && !t->decodes_whole) status = oxi_decode_join(list);
    for (size_t i = 0; i < steps && !status; i++) {
        const oxi_pipe_step *step = &t->decoders.list[i];
        const bool strips = step->row->decode == oxi_decode_strip;
        list->first = first || strips;
        list->last = last || strips;
        status = step->row->decode(step, list);
    }
    return status;
}

/* Whether an id is a byte where byte tokens are decoded. */
static ox_status oxi_token_stream_is_byte(const ox_tokenizer *t, const oxi_token_stream_way *way, int32_t id,
                                          bool first, bool *is_byte) {
    oxi_decode_list list;
    *is_byte = false;
    if (way->bytes_at == t->decoders.count) return OX_OK;
    memset(&list, 0, sizeof list);
    ox_status status = oxi_decode_start(&list);
    if (!status) status = oxi_decode_add(t, &list, id);
    if (!status) status = oxi_token_stream_run(t, &list, way->bytes_at, first, false);
    if (!status && list.tokens.count) {
        size_t length;
        const char *text = oxi_decode_text(&list, 0, &length);
        *is_byte = oxi_byte_of_text(text, length) >= 0;
    }
    oxi_decode_list_free(&list);
    return status;
}

/* The text of `count` held ids, as far as ids decide it: the list's bytes[turn ^ 1]. */
static ox_status oxi_token_stream_decode(const ox_tokenizer *t, const oxi_token_stream_way *way,
                                         const ox_token_stream *stream, size_t count, bool last,
                                         oxi_decode_list *list) {
    ox_status status = oxi_decode_start(list);
    for (size_t i = 0; i < count && !status; i++) status = oxi_decode_add(t, list, stream->held[i]);
    list->lossy = !way->lossy;
    if (!status) status = oxi_token_stream_run(t, list, way->steps, stream->shown == 0, last);
    return status ? status : oxi_decode_fuse(NULL, list);
}

/* One more id; how many of those that are held are decoded now. */
static ox_status oxi_token_stream_hold(const ox_tokenizer *t, const oxi_token_stream_way *way,
                                       ox_token_stream *stream, int32_t token, size_t *ready) {
    const size_t count = (size_t)stream->held_count;
    size_t room = (size_t)stream->held_room;
    bool is_byte;
    ox_status status = oxi_token_stream_is_byte(t, way, token, stream->shown == 0 && count == 0, &is_byte);
    if (status) return status;
    int32_t *held = (int32_t *)oxi_grow(stream->held, &room, count + 1, sizeof *held, false);
    if (!held) return OX_ERR_NOMEM;
    stream->held = held;
    stream->held_room = (int64_t)room;
    held[count] = token;
    *ready = way->holds_all || is_byte ? 0 : way->holds_last ? count : count + 1;
    return OX_OK;
}

/* ---- bytes --------------------------------------------------------------------------------------------- */

/* Where text goes, as far as it fits: `length` counts all. */
typedef struct oxi_token_stream_out {
    char *out;
    size_t room, length;
} oxi_token_stream_out;

/* Text of whole characters, of which a Strip may take off both ends. */
static void oxi_token_stream_put(const oxi_token_stream_way *way, ox_token_stream *stream, const char *text,
                                 size_t length, bool last, oxi_token_stream_out *out) {
    const oxi_pipe_step *strip = way->strip;
    const size_t n = strip ? strip->find_length : 0;
    for (size_t at = 0; at < length;) {
        const bool same = n > 0 && length - at >= n && memcmp(text + at, strip->find, n) == 0;
        if (same && stream->leading >= 0 && stream->leading < strip->start) {
            stream->leading++;
            at += n;
            continue;
        }
        stream->leading = -1; /* the start is over */
        if (same && stream->trailing < strip->stop) {
            stream->trailing++;
            at += n;
            continue;
        }
        for (; !same && stream->trailing > 0; stream->trailing--, out->length += n)
            oxi_copy_text_out(out->out, out->room, out->length, strip->find, n);
        const size_t used = same ? n : oxi_utf8_length((const unsigned char *)text + at, length - at);
        oxi_copy_text_out(out->out, out->room, out->length, text + at, used ? used : 1);
        out->length += used ? used : 1;
        at += used ? used : 1;
    }
    if (last) stream->trailing = 0;
}

/* Bytes of a character that begins so. */
static size_t oxi_lead_length(unsigned char lead) {
    if (lead < 0xC2 || lead > 0xF4) return 1;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Bytes behind those that are pending; a character's start at their end is pending then. */
static void oxi_token_stream_put_bytes(const oxi_token_stream_way *way, ox_token_stream *stream,
                                       const char *bytes, size_t length, bool last,
                                       oxi_token_stream_out *out) {
    unsigned char part[4];
    size_t count = stream->pending_count & 3;
    memcpy(part, stream->pending, sizeof part);
    for (size_t at = 0; at < length || count > 0;) {
        while (count < sizeof part && at < length) part[count++] = (unsigned char)bytes[at++];
        size_t used = oxi_utf8_length(part, count);
        const bool whole = used > 0;
        if (!whole) {
            const size_t full = oxi_lead_length(part[0]);
            used = oxi_utf8_broken_length(part, count);
            if (used == count && count < full && !last) break; /* at == length */
        }
        if (whole || !way->lossy)
            oxi_token_stream_put(way, stream, (const char *)part, used, false, out);
        else
            oxi_token_stream_put(way, stream, "\xef\xbf\xbd", 3, false, out);
        count -= used;
        memmove(part, part + used, count);
    }
    stream->pending_count = (uint8_t)count;
    memcpy(stream->pending, part, sizeof part);
    if (last) oxi_token_stream_put(way, stream, "", 0, true, out);
}

/* ---- the stream ---------------------------------------------------------------------------------------- */

/* Decodes the first `ready` of the held ids into `out`: `next` is the stream behind them. */
static ox_status oxi_token_stream_release(const ox_tokenizer *t, const oxi_token_stream_way *way,
                                          ox_token_stream *next, size_t ready, bool last,
                                          oxi_token_stream_out *out) {
    oxi_decode_list list;
    ox_status status = OX_OK;
    const char *text = "";
    size_t length = 0;
    memset(&list, 0, sizeof list);
    if (ready > 0) {
        status = oxi_token_stream_decode(t, way, next, ready, last, &list);
        const oxi_buffer *made = &list.bytes[list.turn ^ 1];
        if (!status && made->bytes) {
            text = made->bytes;
            length = made->length;
        }
        next->shown += (int64_t)ready;
    }
    if (!status) oxi_token_stream_put_bytes(way, next, text, length, last, out);
    oxi_decode_list_free(&list);
    return status;
}

static int64_t oxi_token_stream_finish(ox_token_stream *stream, const ox_token_stream *next, size_t ready,
                                       const oxi_token_stream_out *out) {
    if (out->length > 0 && out->length >= out->room) return (int64_t)out->length; /* as if nothing was done */
    if (out->room) out->out[out->length] = 0;
    int32_t *held = stream->held;
    const int64_t room = stream->held_room, left = next->held_count - (int64_t)ready;
    if (ready > 0 && left > 0) memmove(held, held + ready, (size_t)left * sizeof *held);
    *stream = *next;
    stream->held = held;
    stream->held_room = room;
    stream->held_count = left;
    return (int64_t)out->length;
}

OX_API int64_t ox_token_stream_push(ox_token_stream *stream, const ox_tokenizer *tokenizer, int32_t token,
                                    char *out, size_t room) {
    if (!stream || !tokenizer) {
        (void)oxi_fail_missing(stream ? "tokenizer: the tokenizer" : "tokenizer: the stream");
        return -1;
    }
    const oxi_token_stream_way way = oxi_token_stream_way_of(tokenizer);
    const bool visible = oxi_tokenizer_has(tokenizer, token) && !oxi_is_hidden(tokenizer, token);
    oxi_token_stream_out to = {out, room, 0};
    ox_token_stream next = *stream;
    size_t ready = 0;
    if (way.pieces) {
        const ox_string piece = ox_tokenizer_piece(tokenizer, stream->count ? stream->previous : -1, token);
        oxi_token_stream_put_bytes(&way, &next, piece.data, (size_t)piece.length, false, &to);
        next.previous = token;
    } else if (visible) {
        ox_status status = oxi_token_stream_hold(tokenizer, &way, stream, token, &ready);
        next.held = stream->held;
        next.held_count++;
        if (!status && ready) status = oxi_token_stream_release(tokenizer, &way, &next, ready, false, &to);
        if (status) return -1;
    }
    next.count++;
    return oxi_token_stream_finish(stream, &next, ready, &to);
}

OX_API int64_t ox_token_stream_end(ox_token_stream *stream, const ox_tokenizer *tokenizer, char *out,
                                   size_t room) {
    oxi_token_stream_out to = {out, room, 0};
    if (!stream) {
        (void)oxi_fail_missing("tokenizer: the stream");
        return -1;
    }
    if (tokenizer) {
        const oxi_token_stream_way way = oxi_token_stream_way_of(tokenizer);
        ox_token_stream next = *stream;
        const size_t held = (size_t)stream->held_count;
        if (oxi_token_stream_release(tokenizer, &way, &next, held, true, &to)) return -1;
        if (oxi_token_stream_finish(stream, &next, held, &to) > 0 && to.length >= room)
            return (int64_t)to.length;
    } else if (room) {
        out[0] = 0;
    }
    oxi_free(stream->held, (size_t)stream->held_room * sizeof *stream->held);
    memset(stream, 0, sizeof *stream);
    return (int64_t)to.length;
}
