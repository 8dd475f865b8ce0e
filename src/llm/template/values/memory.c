/* Memory, limits, failures and the output of a state.
 * Values are never freed one by one: their blocks go together when the parse or the render ends.
 * Called by every part of the room. */

static oxi_jinja_value oxi_jinja_fail(oxi_jinja *j, const char *format, ...) {
    if (j->status == OX_OK) {
        char text[400];
        va_list list;
        va_start(list, format);
        (void)vsnprintf(text, sizeof text, format, list);
        va_end(list);
        j->status = oxi_fail(OX_ERR_FORMAT, "template: line %u, column %u: %s", (unsigned)j->line,
                             (unsigned)j->column, text);
    }
    return oxi_jinja_undefined(NULL, 0);
}

static bool oxi_jinja_step(oxi_jinja *j, size_t steps) {
    if (j->status) return false;
    if (steps > (uint64_t)j->steps) {
        (void)oxi_jinja_fail(j, "rendering takes too many steps");
        return false;
    }
    j->steps -= (int64_t)steps;
    return true;
}

static bool oxi_jinja_enter(oxi_jinja *j) {
    if (++j->depth > OXI_JINJA_MOST_DEPTH)
        (void)oxi_jinja_fail(j, "nested deeper than %d levels", OXI_JINJA_MOST_DEPTH);
    return oxi_jinja_step(j, 1);
}

static void oxi_jinja_leave(oxi_jinja *j) {
    j->depth--;
}

/* Counts bytes that are about to be taken. */
static bool oxi_jinja_charge(oxi_jinja *j, size_t bytes) {
    if (j->status) return false;
    if (bytes > j->most_memory - j->memory) {
        (void)oxi_jinja_fail(j, "more than %.0f bytes of memory", (double)j->most_memory);
        return false;
    }
    j->memory += bytes;
    return true;
}

static void *oxi_jinja_alloc(oxi_jinja *j, size_t bytes) {
    oxi_jinja_block *block = j->blocks;
    size_t wanted;
    if (j->status) return NULL;
    if (!oxi_add_size(bytes, 15, &wanted)) wanted = SIZE_MAX;
    wanted &= ~(size_t)15;
    if (!block || wanted > block->bytes - block->used) {
        const size_t head = (sizeof *block + 15) & ~(size_t)15;
        size_t whole;
        if (!oxi_add_size(wanted, head, &whole)) whole = SIZE_MAX;
        if (whole < OXI_JINJA_BLOCK) whole = OXI_JINJA_BLOCK;
        if (!oxi_jinja_charge(j, whole)) return NULL;
        oxi_jinja_block *made = (oxi_jinja_block *)oxi_alloc(whole);
        if (!made) {
            j->status = OX_ERR_NOMEM;
            return NULL;
        }
        made->bytes = whole;
        made->used = head;
        /* a large value's own block goes behind the one that still has room */
        const bool behind = block && block->bytes - block->used > whole - head - wanted;
        made->next = behind ? block->next : block;
        if (behind)
            block->next = made;
        else
            j->blocks = made;
        block = made;
    }
    void *memory = (char *)block + block->used;
    block->used += wanted;
    return memory;
}

static void *oxi_jinja_alloc_array(oxi_jinja *j, size_t count, size_t bytes_each) {
    size_t bytes;
    return oxi_jinja_alloc(j, oxi_mul_size(count, bytes_each, &bytes) ? bytes : SIZE_MAX);
}

static void oxi_jinja_free_blocks(oxi_jinja_block *block) {
    while (block) {
        oxi_jinja_block *next = block->next;
        oxi_free(block, block->bytes);
        block = next;
    }
}

/* Room for one element more of an array in the heap: the old one stays behind. NULL on failure. */
static void *oxi_jinja_grow(oxi_jinja *j, void *items, size_t count, size_t *room, size_t bytes_each) {
    if (count < *room) return items;
    const size_t more = *room ? *room * 2 : 4;
    void *grown = oxi_jinja_alloc_array(j, more, bytes_each);
    if (!grown) return NULL;
    if (count) memcpy(grown, items, count * bytes_each);
    *room = more;
    return grown;
}

/* ---- output and captures ------------------------------------------------------------------------------- */

static bool oxi_jinja_reserve(oxi_jinja *j, size_t length) {
    if (j->status) return false;
    if (length <= j->out_room - j->out_length) return true;
    size_t room = j->out_room ? j->out_room : 1024;
    while (room - j->out_length < length) {
        if (room > OXI_JINJA_MOST_STRING) {
            (void)oxi_jinja_fail(j, "text of more than %.0f bytes", (double)OXI_JINJA_MOST_STRING);
            return false;
        }
        room *= 2;
    }
    if (!oxi_jinja_charge(j, room - j->out_room)) return false;
    char *grown = (char *)oxi_realloc(j->out, j->out_room, room);
    if (!grown) {
        j->status = OX_ERR_NOMEM;
        return false;
    }
    j->out = grown;
    j->out_room = room;
    return true;
}

static void oxi_jinja_write(oxi_jinja *j, const char *text, size_t length) {
    if (!length || !oxi_jinja_step(j, length / 64) || !oxi_jinja_reserve(j, length)) return;
    memcpy(j->out + j->out_length, text, length);
    j->out_length += length;
}

static void oxi_jinja_write_text(oxi_jinja *j, const char *text) {
    oxi_jinja_write(j, text, strlen(text));
}

static void oxi_jinja_write_many(oxi_jinja *j, char c, int64_t count) {
    if (count <= 0) return;
    if ((uint64_t)count > OXI_JINJA_MOST_STRING) {
        (void)oxi_jinja_fail(j, "text of more than %.0f bytes", (double)OXI_JINJA_MOST_STRING);
        return;
    }
    if (!oxi_jinja_reserve(j, (size_t)count)) return;
    memset(j->out + j->out_length, c, (size_t)count);
    j->out_length += (size_t)count;
}

static void oxi_jinja_write_code(oxi_jinja *j, uint32_t code) {
    char bytes[4];
    oxi_jinja_write(j, bytes, oxi_utf8_write((int32_t)code, bytes));
}

static oxi_jinja_value oxi_jinja_take(oxi_jinja *j, size_t start) {
    if (j->status) return oxi_jinja_text("", 0);
    const size_t length = j->out_length - start;
    char *text = (char *)oxi_jinja_alloc(j, length);
    j->out_length = start;
    if (!text) return oxi_jinja_text("", 0);
    if (length) memcpy(text, j->out + start, length);
    j->last_end = text + length;
    return oxi_jinja_text(text, length);
}
