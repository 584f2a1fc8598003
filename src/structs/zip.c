/* Zip archives of stored members (APPNOTE.TXT of PKWARE, 4.3). */
#include "structs/zip.h"

#include <string.h>

enum { LOCAL = 30, CENTRAL = 46, END = 22, MOST_COMMENT = 65535, NAMES_ARE_UTF8 = 0x800, ENCRYPTED = 1 };
static const uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50;

uint32_t tn_i_crc32(uint32_t crc, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    crc = ~crc;
    for (size_t i = 0; i < n; i++) crc = crc >> 8 ^ table[(crc ^ p[i]) & 255];
    return ~crc;
}

/* ---- numbers, the low byte first ----------------------------------------------------------------- */

static unsigned char *put(unsigned char *out, int bytes, uint32_t x) {
    for (int i = 0; i < bytes; i++) *out++ = (unsigned char)(x >> 8 * i);
    return out;
}

static uint32_t get(const unsigned char *p, int bytes) {
    uint32_t x = 0;
    for (int i = bytes; i-- > 0;) x = x << 8 | p[i];
    return x;
}

/* ---- writing ------------------------------------------------------------------------------------- */

/* From the version that is needed to the length of the name: the same in both places.  All members are from 1980. */
static unsigned char *put_entry(unsigned char *out, const tn_i_zip_entry *e, size_t name) {
    out = put(put(put(out, 2, 20), 2, NAMES_ARE_UTF8), 2, 0);
    out = put(put(out, 2, 0), 2, 33);
    out = put(put(put(out, 4, e->crc), 4, e->size), 4, e->size);
    return put(put(out, 2, (uint32_t)name), 2, 0);
}

size_t tn_i_zip_local(unsigned char *out, const tn_i_zip_entry *e, size_t name) {
    return (size_t)(put_entry(put(out, 4, local_mark), e, name) - out);
}

size_t tn_i_zip_central(unsigned char *out, const tn_i_zip_entry *e, size_t name) {
    unsigned char *at = put_entry(put(put(out, 4, central_mark), 2, 20), e, name);
    at = put(put(put(put(at, 2, 0), 2, 0), 2, 0), 4, 0); /* no comment; first disk; no attributes */
    return (size_t)(put(at, 4, e->at) - out);
}

size_t tn_i_zip_end(unsigned char *out, size_t n, uint32_t size, uint32_t at) {
    unsigned char *end = put(put(put(out, 4, end_mark), 2, 0), 2, 0);
    end = put(put(end, 2, (uint32_t)n), 2, (uint32_t)n);
    return (size_t)(put(put(put(end, 4, size), 4, at), 2, 0) - out);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static bool wrong(const char **why, const char *what) {
    *why = what;
    return false;
}

bool tn_i_zip_open(tn_i_zip *z, const void *file, size_t size, const char **why) {
    const unsigned char *p = file;
    if (size < END) return wrong(why, "this is no .npz file");
    size_t end = size - END;
    const size_t last = end > MOST_COMMENT ? end - MOST_COMMENT : 0;
    while (end > last && get(p + end, 4) != end_mark) end--;
    if (get(p + end, 4) != end_mark) return wrong(why, "this is no .npz file, or its end is missing");
    *z = (tn_i_zip){p, size, get(p + end + 16, 4), get(p + end + 10, 2)};
    if (z->n == 0xffff || z->at == 0xffffffff)
        return wrong(why, "an .npz file of more than 65,534 arrays or 4 GiB is not supported; use a folder");
    return z->at <= end || wrong(why, "the .npz file's directory is damaged");
}

/* Where a member's bytes are, by the header in front of them. */
static bool find_data(const tn_i_zip *z, size_t at, tn_i_zip_member *m, const char **why) {
    if (at > z->size || z->size - at < LOCAL || get(z->file + at, 4) != local_mark)
        return wrong(why, "the .npz file is damaged: an array is not where the directory says");
    const size_t skip = LOCAL + get(z->file + at + 26, 2) + get(z->file + at + 28, 2);
    if (z->size - at < skip || z->size - at - skip < m->size)
        return wrong(why, "the .npz file is damaged: it ends within an array");
    m->data = z->file + at + skip;
    return true;
}

bool tn_i_zip_next(tn_i_zip *z, tn_i_zip_member *m, const char **why) {
    if (z->size - z->at < CENTRAL || get(z->file + z->at, 4) != central_mark)
        return wrong(why, "the .npz file's directory is damaged");
    const unsigned char *p = z->file + z->at;
    const uint32_t size = get(p + 24, 4), at = get(p + 42, 4);
    const size_t name = get(p + 28, 2), more = get(p + 30, 2) + get(p + 32, 2);
    if (z->size - z->at - CENTRAL < name + more) return wrong(why, "the .npz file's directory is damaged");
    if (get(p + 8, 2) & ENCRYPTED) return wrong(why, "the .npz file is encrypted");
    if (get(p + 10, 2) != 0)
        return wrong(why, "the .npz file is compressed; numpy.savez writes one that is not, savez_compressed does not");
    if (size == 0xffffffff || at == 0xffffffff)
        return wrong(why, "an .npz file of more than 4 GiB is not supported; use a folder");
    if (get(p + 20, 4) != size) return wrong(why, "the .npz file's directory is damaged");
    *m = (tn_i_zip_member){.name = (const char *)p + CENTRAL, .length = name, .size = size, .crc = get(p + 16, 4)};
    z->at += CENTRAL + name + more;
    return find_data(z, at, m, why);
}
