/* Structs in files of NumPy's: a folder of .npy files, or one .npz. */
#include "structs/structs.h"
#include "structs/zip.h"

#include "base/base.h"
#include "base/npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A struct on its way to a path, or from there. */
typedef struct transfer {
    tn_ctx *c;
    const char *who, *path;
    const tn_struct *s;
    size_t arrays;
    char *at;   /* the struct */
    char *name; /* of an array, and of its file: room for `room` bytes each */
    char *file;
    size_t room;
    bool copy; /* reading: what was looked at is copied now */
    tn_status status;
} transfer;

static bool fail(transfer *t, tn_status status, const char *file, const char *why) {
    t->status = tn_i_fail(t->c, status, NULL, "%s: %s: %s", t->who, file, why);
    return false;
}

static bool fail_by(transfer *t, const char *file, int reason) {
    char text[128] = "";
    if (strerror_r(reason, text, sizeof text) != 0) (void)snprintf(text, sizeof text, "error %d", reason);
    return fail(t, TN_EIO, file, text);
}

static bool fail_at(transfer *t, const char *file, const char *array, const char *why) {
    t->status = tn_i_fail(t->c, TN_EINVAL, NULL, "%s: %s: %.64s.%s: %s", t->who, file,
                          t->s->name ? t->s->name : "struct", array, why);
    return false;
}

static bool longest(void *user, const tn_i_member *m) {
    size_t *most = user;
    const size_t n = tn_i_member_name(m, NULL, 0);
    if (n > *most) *most = n;
    return true;
}

/* "NAME.npy", of an array that t->name names then. */
static const char *file_in_zip(transfer *t, const tn_i_member *m) {
    (void)tn_i_member_name(m, t->name, t->room);
    (void)snprintf(t->file, t->room, "%s.npy", t->name);
    return t->file;
}

static const char *file_in_folder(transfer *t, const tn_i_member *m) {
    (void)tn_i_member_name(m, t->name, t->room);
    (void)snprintf(t->file, t->room, "%s/%s.npy", t->path, t->name);
    return t->file;
}

static bool is_archive(const char *path) {
    const size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".npz") == 0;
}

/* ---- a folder, written ----------------------------------------------------------------------------- */

static bool write_npy(void *user, const tn_i_member *m) {
    transfer *t = user;
    const char *name = file_in_folder(t, m);
    FILE *f = fopen(name, "wb");
    if (!f) return fail_by(t, name, errno);
    errno = 0;
    const bool ok = tn_i_npy_write(f, m->type, t->at + m->offset);
    const int reason = errno;
    errno = 0;
    if (fclose(f) == 0 && ok) return true;
    return fail_by(t, name, ok ? errno : reason);
}

/* ---- an archive, written ---------------------------------------------------------------------------- */

typedef struct archive {
    transfer *t;
    FILE *f;
    tn_i_zip_entry *entry;
    uint64_t at; /* bytes so far */
} archive;

static bool put(archive *a, const void *bytes, size_t n) {
    errno = 0;
    if (a->at + n > UINT32_MAX - 1)
        return fail(a->t, TN_EOVERFLOW, a->t->path, "an .npz file has at most 4 GiB; write into a folder");
    a->at += n;
    return n == 0 || fwrite(bytes, 1, n, a->f) == n || fail_by(a->t, a->t->path, errno);
}

static bool put_array(void *user, const tn_i_member *m) {
    archive *a = user;
    char header[TN_I_NPY_HEADER];
    unsigned char local[TN_I_ZIP_MOST];
    tn_i_zip_entry *e = &a->entry[m->number];
    const char *name = file_in_zip(a->t, m), *data = a->t->at + m->offset;
    const size_t n = tn_i_npy_header(m->type, header), bytes = tn_type_bytes(m->type);
    if (bytes > UINT32_MAX - n - 1)
        return fail(a->t, TN_EOVERFLOW, a->t->path, "an .npz file has at most 4 GiB; write into a folder");
    *e = (tn_i_zip_entry){tn_i_crc32(tn_i_crc32(0, header, n), data, bytes), (uint32_t)(n + bytes), (uint32_t)a->at};
    return put(a, local, tn_i_zip_local(local, e, strlen(name))) && put(a, name, strlen(name)) && put(a, header, n) &&
           put(a, data, bytes);
}

static bool put_entry(void *user, const tn_i_member *m) {
    archive *a = user;
    unsigned char central[TN_I_ZIP_MOST];
    const char *name = file_in_zip(a->t, m);
    return put(a, central, tn_i_zip_central(central, &a->entry[m->number], strlen(name))) && put(a, name, strlen(name));
}

static bool put_all(archive *a) {
    unsigned char end[TN_I_ZIP_MOST];
    if (!tn_i_struct_walk(a->t->s, put_array, a)) return false;
    const uint32_t at = (uint32_t)a->at;
    return tn_i_struct_walk(a->t->s, put_entry, a) &&
           put(a, end, tn_i_zip_end(end, a->t->arrays, (uint32_t)a->at - at, at));
}

static void write_archive(transfer *t) {
    archive a = {.t = t};
    if (t->arrays > 65534) {
        (void)fail(t, TN_EOVERFLOW, t->path, "an .npz file has at most 65,534 arrays; write into a folder");
        return;
    }
    a.entry = tn_i_alloc_array(t->c, t->arrays, sizeof *a.entry);
    a.f = a.entry ? fopen(t->path, "wb") : NULL;
    if (!a.entry)
        t->status = TN_ENOMEM;
    else if (!a.f)
        (void)fail_by(t, t->path, errno);
    else if (!put_all(&a))
        (void)fclose(a.f);
    else if (fclose(a.f) != 0)
        (void)fail_by(t, t->path, errno);
    tn_i_free(t->c, a.entry, t->arrays * sizeof *a.entry);
}

/* ---- reading --------------------------------------------------------------------------------------- */

typedef struct contents {
    void *bytes;
    size_t n, capacity;
} contents;

static void forget(transfer *t, contents *x) { tn_i_free(t->c, x->bytes, x->capacity); }

/* A whole file; `missing` says what it is where there is none. */
static bool read_file(transfer *t, const char *path, const char *missing, contents *x) {
    *x = (contents){0};
    FILE *f = fopen(path, "rb");
    if (!f)
        return errno == ENOENT && missing ? fail_at(t, path, missing, "there is no such file")
                                          : fail_by(t, path, errno);
    bool ok = true;
    size_t got = 1;
    errno = 0;
    while (ok && got) {
        ok = tn_i_grow(t->c, &x->bytes, &x->capacity, x->n + (1 << 14), 1);
        if (ok) x->n += got = fread((char *)x->bytes + x->n, 1, x->capacity - x->n, f);
    }
    if (!ok)
        t->status = tn_last_status(t->c);
    else if (ferror(f))
        ok = fail_by(t, path, errno);
    (void)fclose(f);
    if (!ok) forget(t, x);
    return ok;
}

/* The bytes of a .npy file into the struct, or looked at alone. */
static bool take_array(transfer *t, const char *file, const tn_i_member *m, const void *bytes, size_t n) {
    char message[TN_I_NPY_MESSAGE], why[2 * TN_TYPE_TEXT + 64], wanted[TN_TYPE_TEXT], own[TN_TYPE_TEXT];
    tn_i_npy npy;
    if (!tn_i_npy_parse(bytes, n, &npy, message)) return fail_at(t, file, t->name, message);
    if (!tn_type_equal(&npy.type, m->type)) {
        (void)tn_type_print(m->type, wanted, sizeof wanted);
        (void)tn_type_print(&npy.type, own, sizeof own);
        (void)snprintf(why, sizeof why, "expected %s, the file has %s", wanted, own);
        return fail_at(t, file, t->name, why);
    }
    if (t->copy) tn_i_npy_copy(&npy, bytes, t->at + m->offset);
    return true;
}

static bool read_npy(void *user, const tn_i_member *m) {
    transfer *t = user;
    contents x;
    const char *file = file_in_folder(t, m);
    if (!read_file(t, file, t->name, &x)) return false;
    const bool ok = take_array(t, file, m, x.bytes, x.n);
    forget(t, &x);
    return ok;
}

typedef struct reading {
    transfer *t;
    size_t n, next; /* members, and where the next array's is if they are in order */
    tn_i_zip_member *member;
} reading;

static bool is_member(const tn_i_zip_member *z, const char *name) {
    return z->length == strlen(name) && memcmp(z->name, name, z->length) == 0;
}

static bool read_member(void *user, const tn_i_member *m) {
    reading *r = user;
    transfer *t = r->t;
    const char *name = file_in_zip(t, m);
    size_t k = r->next;
    if (k >= r->n || !is_member(&r->member[k], name))
        for (k = 0; k < r->n && !is_member(&r->member[k], name); k++) continue;
    if (k == r->n) return fail_at(t, t->path, t->name, "the file does not have it");
    const tn_i_zip_member *z = &r->member[k];
    r->next = k + 1;
    if (!t->copy && tn_i_crc32(0, z->data, z->size) != z->crc)
        return fail_at(t, t->path, t->name, "the file is damaged: the sum of its bytes is another");
    return take_array(t, t->path, m, z->data, z->size);
}

/* Each member is an array of the struct, and there are as many.  What has another name, or one a second time, is named.
 */
static bool no_others(reading *r) {
    char why[400];
    if (r->n == r->t->arrays) return true;
    for (size_t k = 0; k < r->n; k++) {
        const tn_i_zip_member *z = &r->member[k];
        bool twice = false;
        for (size_t j = 0; j < k && !twice; j++)
            twice = r->member[j].length == z->length && memcmp(r->member[j].name, z->name, z->length) == 0;
        const size_t n = z->length >= 4 && memcmp(z->name + z->length - 4, ".npy", 4) == 0 ? z->length - 4 : z->length;
        (void)snprintf(r->t->name, r->t->room, "%.*s", (int)n, z->name);
        if (!twice && n < r->t->room && tn_struct_find(r->t->s, r->t->name) != SIZE_MAX) continue;
        (void)snprintf(why, sizeof why, twice ? "it has '%.*s' twice" : "it has '%.*s', which %.64s has not",
                       (int)(n < 200 ? n : 200), z->name, r->t->s->name ? r->t->s->name : "the struct");
        return fail(r->t, TN_EINVAL, r->t->path, why);
    }
    return true;
}

/* Looked at first, and copied when all is right. */
static bool twice(transfer *t, tn_i_member_fn fn, void *user) {
    t->copy = false;
    if (!tn_i_struct_walk(t->s, fn, user)) return false;
    t->copy = true;
    return tn_i_struct_walk(t->s, fn, user);
}

static bool read_members(reading *r, tn_i_zip *z) {
    const char *why;
    for (size_t k = 0; k < r->n; k++)
        if (!tn_i_zip_next(z, &r->member[k], &why)) return fail(r->t, TN_EINVAL, r->t->path, why);
    if (r->n > r->t->arrays && !no_others(r)) return false;
    return twice(r->t, read_member, r);
}

static void read_archive(transfer *t) {
    contents x;
    tn_i_zip z;
    const char *why;
    if (!read_file(t, t->path, NULL, &x)) return;
    if (!tn_i_zip_open(&z, x.bytes, x.n, &why)) {
        (void)fail(t, TN_EINVAL, t->path, why);
    } else {
        reading r = {.t = t, .n = z.n};
        r.member = tn_i_alloc_array(t->c, r.n, sizeof *r.member);
        if (r.member)
            (void)read_members(&r, &z);
        else
            t->status = TN_ENOMEM;
        tn_i_free(t->c, r.member, r.n * sizeof *r.member);
    }
    forget(t, &x);
}

/* ---- both ------------------------------------------------------------------------------------------- */

/* Room for names; false after an error. */
static bool begin(transfer *t) {
    char why[TN_I_STRUCT_WRONG];
    size_t most = 0;
    if (!tn_i_struct_right(t->s, &t->arrays, why)) {
        t->status = tn_i_fail(t->c, TN_EINVAL, NULL, "%s: %s", t->who, why);
        return false;
    }
    if (!t->at || !t->path) {
        t->status = tn_i_fail(t->c, TN_EINVAL, NULL, "%s: %s is NULL", t->who, t->at ? "the path" : "the struct");
        return false;
    }
    (void)tn_i_struct_walk(t->s, longest, &most);
    t->room = strlen(t->path) + most + sizeof "/.npy";
    if (most > 60000) return fail(t, TN_EINVAL, t->path, "a name is too long");
    t->name = tn_i_alloc_raw(t->c, 2 * t->room);
    t->file = t->name ? t->name + t->room : NULL;
    if (!t->name) t->status = TN_ENOMEM;
    return t->name != NULL;
}

static tn_status end(transfer *t) {
    tn_i_free(t->c, t->name, 2 * t->room);
    return t->status;
}

tn_status tn_struct_save(tn_ctx *c, const tn_struct *s, const void *p, const char *path) {
    transfer t = {.c = c, .who = "struct_save", .path = path, .s = s, .at = (char *)(uintptr_t)p};
    if (!c) return TN_EINVAL;
    if (!begin(&t)) return t.status;
    if (is_archive(path))
        write_archive(&t);
    else
        (void)tn_i_struct_walk(s, write_npy, &t);
    return end(&t);
}

tn_status tn_struct_load(tn_ctx *c, const tn_struct *s, void *p, const char *path) {
    transfer t = {.c = c, .who = "struct_load", .path = path, .s = s, .at = p};
    if (!c) return TN_EINVAL;
    if (!begin(&t)) return t.status;
    if (is_archive(path))
        read_archive(&t);
    else
        (void)twice(&t, read_npy, &t);
    return end(&t);
}
