/* Texts as a tree of bytes: read forwards (longest token at a place, all tokens there), or backwards with
 * links to shorter ones, so that all markers in a text are found in one pass (Aho and Corasick 1975). */
#ifndef OX_LLM_TRIE_H
#define OX_LLM_TRIE_H

typedef struct oxi_trie_node {
    int32_t child;   /* the first of its children, by byte; they end where those of the next node begin */
    int32_t shorter; /* backwards: the node of the longest start of its text that is another's */
    int32_t value;   /* of the text that ends here, backwards also of a shorter one; -1 = none */
    int32_t user;    /* the same of those with `user` */
    uint8_t byte;
} oxi_trie_node;

typedef struct oxi_trie {
    oxi_trie_node *nodes; /* [count + 1], the root first, then by depth; NULL = it has no texts */
    int32_t count;
    int32_t root[256]; /* the root's children, -1 = none */
} oxi_trie;

typedef struct oxi_trie_text {
    const char *text;
    size_t length; /* those of 0 are left out */
    int32_t value;
    bool user;
} oxi_trie_text;

/* Of equal texts the last one counts. The trie is zeroed. */
static ox_status oxi_trie_make(oxi_trie *trie, const oxi_trie_text *texts, uint32_t count, bool backwards);
static void oxi_trie_free(oxi_trie *trie);
/* The child with a byte, -1 = none. */
static int32_t oxi_trie_child(const oxi_trie *trie, int32_t node, uint8_t byte);

typedef struct oxi_marker {
    size_t at;
    int32_t value;
} oxi_marker;

typedef struct oxi_markers {
    oxi_marker *list; /* the last one first */
    size_t count, room;
} oxi_markers;
/* For each byte of a text where one begins, the longest marker there. `nothing`: what is found where no other
 * one begins, between characters and at both ends; -1 = nothing is. */
static ox_status oxi_trie_find_markers(const oxi_trie *trie, const char *text, size_t length, bool user_only,
                                       int32_t nothing, oxi_markers *out);
static void oxi_markers_free(oxi_markers *markers);

#endif
