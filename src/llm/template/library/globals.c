/* Functions that every template sees: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
 * Called through oxi_jinja_apply. */

static oxi_jinja_value oxi_jinja_global_range(oxi_jinja *j, oxi_jinja_value *a) {
    const bool only_stop = a[2].type == OXI_JINJA_MISSING;
    const int64_t start = only_stop ? 0 : oxi_jinja_int_argument(j, a[1], 0);
    const int64_t stop = oxi_jinja_int_argument(j, only_stop ? a[1] : a[2], 0);
    const int64_t step = oxi_jinja_int_argument(j, a[3], 1);
    if (step == 0) return oxi_jinja_fail(j, "range: a step of 0");
    const uint64_t stride = step > 0 ? (uint64_t)step : (uint64_t)0 - (uint64_t)step;
    const bool any = step > 0 ? start < stop : start > stop;
    const uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    const uint64_t count = any ? (span - 1) / stride + 1 : 0;
    if (count > OXI_JINJA_MOST_RANGE)
        return oxi_jinja_fail(j, "range: more than %d elements", (int)OXI_JINJA_MOST_RANGE);
    oxi_jinja_value range = oxi_jinja_list_new(j, OXI_JINJA_RANGE, (size_t)count);
    for (uint64_t i = 0; i < count && !j->status; i++)
        oxi_jinja_push(j, range.as.list, oxi_jinja_int(start + (int64_t)i * step));
    if (j->status) return range;
    range.as.list->start = start;
    range.as.list->stop = stop;
    range.as.list->stride = step;
    return range;
}

static oxi_jinja_value oxi_jinja_global_dict(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value dict = oxi_jinja_dict_new(j);
    for (size_t i = 0; i < a[1].as.list->count && !j->status; i++)
        oxi_jinja_dict_add(j, dict.as.dict, a[1].as.list->items[i]);
    if (!j->status) oxi_jinja_dict_add(j, dict.as.dict, a[2]);
    return dict;
}

static oxi_jinja_value oxi_jinja_global_namespace(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value v = oxi_jinja_global_dict(j, a);
    if (!j->status) v.type = OXI_JINJA_NAMESPACE;
    return v;
}

static oxi_jinja_value oxi_jinja_global_raise(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value text = oxi_jinja_string(j, a[1]);
    if (j->status) return text;
    return oxi_jinja_fail(j, "raise_exception: %.*s", (int)(text.length < 300 ? text.length : 300),
                          text.as.text);
}

static oxi_jinja_value oxi_jinja_global_cycler(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value v = a[1];
    if (!v.as.list->count) return oxi_jinja_fail(j, "a cycler of nothing");
    v.type = OXI_JINJA_CYCLER;
    v.as.list->start = 0;
    return v;
}

static oxi_jinja_value oxi_jinja_global_joiner(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value v = oxi_jinja_list_new(j, OXI_JINJA_JOINER, 1);
    if (j->status) return v;
    v.as.list->start = 0;
    oxi_jinja_push(j, v.as.list, a[1].type == OXI_JINJA_MISSING ? oxi_jinja_word(", ") : a[1]);
    return v;
}

static oxi_jinja_value oxi_jinja_global_lipsum(oxi_jinja *j, oxi_jinja_value *a) {
    (void)a;
    return oxi_jinja_fail(j, "lipsum, which makes random text, is not supported");
}

/* ---- the clock ----------------------------------------------------------------------------------------- */

typedef struct oxi_jinja_date {
    int64_t year;
    int month, day, weekday, yearday, hour, minute, second; /* month and day from 1, weekday 0 = Sunday */
} oxi_jinja_date;

/* Civil date of a day number (Howard Hinnant, "chrono-compatible low-level date algorithms"). */
static oxi_jinja_date oxi_jinja_date_of(int64_t seconds) {
    static const int before[12] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    oxi_jinja_date date;
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    date.hour = (int)(rest / 3600);
    date.minute = (int)(rest / 60 % 60);
    date.second = (int)(rest % 60);
    date.weekday = (int)(((days % 7) + 11) % 7);
    days += 719468;
    const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const int64_t day = days - era * 146097;
    const int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    const int64_t yearday = day - (365 * year + year / 4 - year / 100);
    const int64_t month = (5 * yearday + 2) / 153;
    date.day = (int)(yearday - (153 * month + 2) / 5 + 1);
    date.month = (int)(month < 10 ? month + 3 : month - 9);
    date.year = year + era * 400 + (date.month <= 2);
    const bool leap = (date.year % 4 == 0 && date.year % 100 != 0) || date.year % 400 == 0;
    date.yearday = before[date.month - 1] + date.day + (leap && date.month > 2);
    return date;
}

static void oxi_jinja_write_padded(oxi_jinja *j, int64_t value, int width, char pad) {
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    if (pad) oxi_jinja_write_many(j, pad, width - (int64_t)strlen(text));
    oxi_jinja_write_text(j, text);
}

static void oxi_jinja_write_date(oxi_jinja *j, const oxi_jinja_date *date, const char *format, size_t length);

/* One letter behind '%'; in the C locale. */
static void oxi_jinja_write_date_part(oxi_jinja *j, const oxi_jinja_date *date, char letter, bool unpadded) {
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const struct {
        char letter;
        const char *format;
    } composed[] = {{'F', "%Y-%m-%d"},
                    {'T', "%H:%M:%S"},
                    {'R', "%H:%M"},
                    {'D', "%m/%d/%y"},
                    {'x', "%m/%d/%y"},
                    {'X', "%H:%M:%S"},
                    {'c', "%a %b %e %H:%M:%S %Y"}};
    const char zero = unpadded ? '\0' : '0';
    for (size_t i = 0; i < sizeof composed / sizeof *composed; i++)
        if (composed[i].letter == letter) {
            oxi_jinja_write_date(j, date, composed[i].format, strlen(composed[i].format));
            return;
        }
    switch (letter) {
    case 'Y': oxi_jinja_write_padded(j, date->year, 4, zero); break;
    case 'y': oxi_jinja_write_padded(j, date->year % 100, 2, zero); break;
    case 'm': oxi_jinja_write_padded(j, date->month, 2, zero); break;
    case 'd': oxi_jinja_write_padded(j, date->day, 2, zero); break;
    case 'e': oxi_jinja_write_padded(j, date->day, 2, unpadded ? '\0' : ' '); break;
    case 'H': oxi_jinja_write_padded(j, date->hour, 2, zero); break;
    case 'I': oxi_jinja_write_padded(j, (date->hour + 11) % 12 + 1, 2, zero); break;
    case 'M': oxi_jinja_write_padded(j, date->minute, 2, zero); break;
    case 'S': oxi_jinja_write_padded(j, date->second, 2, zero); break;
    case 'f': oxi_jinja_write_text(j, "000000"); break;
    case 'j': oxi_jinja_write_padded(j, date->yearday, 3, zero); break;
    case 'w': oxi_jinja_write_padded(j, date->weekday, 1, zero); break;
    case 'u': oxi_jinja_write_padded(j, date->weekday ? date->weekday : 7, 1, zero); break;
    case 'p': oxi_jinja_write_text(j, date->hour < 12 ? "AM" : "PM"); break;
    case 'A': oxi_jinja_write_text(j, days[date->weekday]); break;
    case 'a': oxi_jinja_write(j, days[date->weekday], 3); break;
    case 'B': oxi_jinja_write_text(j, months[date->month - 1]); break;
    case 'b':
    case 'h': oxi_jinja_write(j, months[date->month - 1], 3); break;
    case 'Z':
    case 'z': break; /* a time without a zone, as Python's datetime.now() */
    case '%': oxi_jinja_write(j, "%", 1); break;
    default: (void)oxi_jinja_fail(j, "strftime_now: '%%%c' is not known", letter);
    }
}

static void oxi_jinja_write_date(oxi_jinja *j, const oxi_jinja_date *date, const char *format,
                                 size_t length) {
    for (size_t i = 0; i < length && !j->status; i++) {
        if (format[i] != '%') {
            oxi_jinja_write(j, format + i, 1);
            continue;
        }
        const bool unpadded = i + 1 < length && format[i + 1] == '-';
        i += unpadded ? 2 : 1;
        oxi_jinja_write_date_part(j, date, i < length ? format[i] : ' ', unpadded);
    }
}

static oxi_jinja_value oxi_jinja_global_strftime(oxi_jinja *j, oxi_jinja_value *a) {
    const size_t start = j->out_length;
    const oxi_jinja_date date = oxi_jinja_date_of(j->now);
    if (!oxi_jinja_text_argument(j, a[1])) return a[1];
    oxi_jinja_write_date(j, &date, a[1].as.text, a[1].length);
    return oxi_jinja_take(j, start);
}

static const oxi_jinja_function oxi_jinja_globals[] = {
    {"cycler", "*", oxi_jinja_global_cycler},
    {"dict", "* **", oxi_jinja_global_dict},
    {"joiner", "sep?", oxi_jinja_global_joiner},
    {"lipsum", "* **", oxi_jinja_global_lipsum},
    {"namespace", "* **", oxi_jinja_global_namespace},
    {"raise_exception", "message", oxi_jinja_global_raise},
    {"range", "start stop? step?", oxi_jinja_global_range},
    {"strftime_now", "format", oxi_jinja_global_strftime},
};

static const oxi_jinja_function *oxi_jinja_find_global(oxi_jinja_value name) {
    return oxi_jinja_find_row(oxi_jinja_globals, sizeof oxi_jinja_globals / sizeof *oxi_jinja_globals, name);
}
