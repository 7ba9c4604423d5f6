/* Folds item ids, "batchId:groupId:index", and indexes and ranges of groups that Python has checked; finds the
   ids in pages of Parquet.

   A row that is anything else is declined: Python judges it by the tracker's rules. So this file accepts no id
   that they refuse, and says of none why. Plain C99 for little-endian machines, loaded by loading.py. */

#include <stdint.h>

enum {
    HEAD = 74,       /* bytes of "batchId:groupId:" */
    DIGITS = 16,     /* the most digits that are read; an index of a group has at most 11 */
    PAGE_SHIFT = 10, /* the layout of bitmaps, of pipeline/shared_by_jobs/bitmaps.py */
    PAGE_BITS = 1 << PAGE_SHIFT,
    BLOCK_SHIFT = 15,
    BLOCK_BYTES = (1 << BLOCK_SHIFT) / 8,
    WORD_SHIFT = 6,
    WORD_BITS = 1 << WORD_SHIFT,
    QUEUED = 64, /* words that wait for their memory */
    FIELDS = 16, /* of a struct of a page header, more than there are */
    ABSENT = -1,
    FALSE_FLAG = -2,
    TRUE_KIND = 1,
    FALSE_KIND = 2,
    I32_KIND = 5,
    I64_KIND = 6,
    BINARY_KIND = 8,
    STRUCT_KIND = 12
};

/* The memory of one batch's bitmap: bitmaps.Memory. */
typedef struct {
    int64_t *starts; /* where the bytes of each block begin; 0 if it has none */
    uint8_t *blocks;
    int64_t numbers, capacity, count, page_bits;
} Bitmap;

/* A group whose tag is right: groups.GROUP. */
typedef struct {
    uint8_t head[HEAD + 6];
    int64_t start, upto;
    Bitmap *bitmap;
} Group;

/* The known groups with a hash table of them, and what came of a call: groups.State. */
typedef struct {
    const Group *groups;
    int32_t *slots; /* 1 + the number of the group; 0 if free */
    uint64_t mask;
    int64_t *declined, most_declined, count_declined, items;
    Bitmap *full; /* has no memory for its block `block`; NULL if that did not end the call */
    int64_t block;
} State;

/* Words of bitmaps, and the bits to set in each. Where a bitmap is larger than the caches, a word that is asked
   for when it is queued has come when the queue is full. */
typedef struct {
    uint64_t *words[QUEUED], bits[QUEUED];
    int64_t size;
} Queue;

static inline uint64_t eight_bytes(const uint8_t *text) {
    uint64_t bytes;
    __builtin_memcpy(&bytes, text, 8);
    return bytes;
}

static inline int has_head(const uint8_t *text, const uint8_t *head) {
    uint64_t differing = eight_bytes(text + HEAD - 8) ^ eight_bytes(head + HEAD - 8);
    for (int at = 0; at < HEAD - 8; at += 8) differing |= eight_bytes(text + at) ^ eight_bytes(head + at);
    return !differing;
}

/* The random end of the batch id, and that of the group's tag. */
static inline uint64_t hash(const uint8_t *head) {
    uint64_t mixed = eight_bytes(head + 28) * 0x9E3779B97F4A7C15u ^ eight_bytes(head + 65);
    return mixed * 0xD6E8FEB86659FD93u >> 32;
}

static const Group *group_of(const State *state, const uint8_t *text) {
    for (uint64_t at = hash(text) & state->mask; state->slots[at]; at = (at + 1) & state->mask) {
        const Group *group = &state->groups[state->slots[at] - 1];
        if (has_head(text, group->head)) return group;
    }
    return 0;
}

/* The number of the last `length` of eight digits, at least one; -1 if one of them is no digit. */
static inline int64_t digits(uint64_t eight, int64_t length) {
    eight = (eight ^ 0x3030303030303030u) & ~(uint64_t)0 << (64 - 8 * length);
    if ((eight | (eight + 0x0606060606060606u)) & 0xF0F0F0F0F0F0F0F0u) return -1;
    eight = (eight * (10 << 8 | 1) >> 8) & 0x00FF00FF00FF00FFu;
    eight = (eight * (100 << 16 | 1) >> 16) & 0x0000FFFF0000FFFFu;
    return (int64_t)(eight * ((uint64_t)10000 << 32 | 1) >> 32);
}

/* The index that an id of so many bytes ends with; negative if it is not in canonical form. */
static inline int64_t index_of(const uint8_t *text, int64_t size) {
    int64_t length = size - HEAD;
    if (length > DIGITS || (text[HEAD] == '0' && length > 1)) return -1;
    int64_t low = digits(eight_bytes(text + size - 8), length < 8 ? length : 8);
    if (length <= 8 || low < 0) return low;
    return digits(eight_bytes(text + size - 16), length - 8) * 100000000 + low; /* negative if digits are not */
}

/* The bit of a position, if all blocks were one after another. */
static inline int64_t bit_of(const Bitmap *bitmap, int64_t position) {
    if (bitmap->page_bits == PAGE_BITS) return position;
    int64_t page = position / bitmap->page_bits;
    return (page << PAGE_SHIFT) + position - page * bitmap->page_bits;
}

/* The words of the block of a bit; NULL if there is no memory for it. */
static inline uint64_t *words_of(State *state, Bitmap *bitmap, int64_t bit) {
    int64_t block = bit >> BLOCK_SHIFT;
    if (block >= bitmap->numbers || (!bitmap->starts[block] && bitmap->count == bitmap->capacity)) {
        state->full = bitmap;
        state->block = block;
        return 0;
    }
    if (!bitmap->starts[block]) bitmap->starts[block] = bitmap->count++ * BLOCK_BYTES;
    return (uint64_t *)(bitmap->blocks + bitmap->starts[block]);
}

/* Sets the bits of all queued words. Their memory moves only between two calls. */
static inline void set_queued(Queue *queue) {
    for (int64_t at = 0; at < queue->size; at++) *queue->words[at] |= queue->bits[at];
    queue->size = 0;
}

static inline void set_later(Queue *queue, uint64_t *word, uint64_t bits) {
    __builtin_prefetch(word, 1);
    if (queue->size == QUEUED) set_queued(queue);
    queue->words[queue->size] = word;
    queue->bits[queue->size++] = bits;
}

/* Sets the bit of a position later; returns 0 if there is no memory for its block. */
static inline int set_bit(State *state, Queue *queue, Bitmap *bitmap, int64_t position) {
    const int64_t in_block = (1 << BLOCK_SHIFT) - 1;
    int64_t bit = bit_of(bitmap, position);
    uint64_t *words = words_of(state, bitmap, bit);
    if (!words) return 0;
    set_later(queue, words + ((bit & in_block) >> WORD_SHIFT), (uint64_t)1 << (bit & (WORD_BITS - 1)));
    return 1;
}

/* Sets the bits `first` to `last` of a block, those of its first and its last word later. */
static inline void fill(Queue *queue, uint64_t *words, int64_t first, int64_t last) {
    const uint64_t ones = ~(uint64_t)0;
    uint64_t low = ones << (first & (WORD_BITS - 1)), high = ones >> (WORD_BITS - 1 - (last & (WORD_BITS - 1)));
    int64_t at = first >> WORD_SHIFT, end = last >> WORD_SHIFT;
    set_later(queue, words + at, at == end ? low & high : low);
    if (at == end) return;
    while (++at < end) words[at] = ones;
    set_later(queue, words + end, high);
}

/* Sets the bits of the positions `first` to `last`; returns 0 if there is no memory for a block of them. */
static inline int set_bits(State *state, Queue *queue, Bitmap *bitmap, int64_t first, int64_t last) {
    const int64_t in_block = (1 << BLOCK_SHIFT) - 1;
    for (int64_t size; first <= last; first += size) {
        int64_t bit = bit_of(bitmap, first);
        uint64_t *words = words_of(state, bitmap, bit);
        if (!words) return 0;
        size = bitmap->page_bits == PAGE_BITS ? in_block + 1 - (bit & in_block)
                                              : bitmap->page_bits - first % bitmap->page_bits;
        if (size > last - first + 1) size = last - first + 1;
        fill(queue, words, bit & in_block, (bit & in_block) + size - 1);
    }
    return 1;
}

/* Adds the groups `first` to `upto` - 1 to the hash table, which has room. */
void fanin_add_groups(State *state, int64_t first, int64_t upto) {
    for (int64_t number = first; number < upto; number++) {
        uint64_t at = hash(state->groups[number].head) & state->mask;
        while (state->slots[at]) at = (at + 1) & state->mask;
        state->slots[at] = (int32_t)number + 1;
    }
}

/* Folds the rows from `row` on, and lists those that it declines; `skip`: rows to decline, or NULL.
   The text of each row lies between its two bounds in `data`, and `step` bounds after them are the next row's.
   Returns the row after the last one: `rows`, or before it where `full`, or the list of declined rows, says. */
int64_t fanin_fold(
    State *state, const int32_t *bounds, int64_t step, const uint8_t *data, const uint8_t *skip, int64_t row,
    int64_t rows
) {
    const Group *group = 0;
    Queue queue;
    queue.size = 0;
    for (; row < rows && state->count_declined < state->most_declined; row++) {
        const int32_t *of_row = bounds + row * step;
        const uint8_t *text = data + of_row[0];
        int64_t size = (int64_t)of_row[1] - of_row[0], index = -1;
        if (size > HEAD && !(skip && skip[row])) {
            if (!group || !has_head(text, group->head)) group = group_of(state, text);
            if (group) index = index_of(text, size);
        }
        if (index < 0 || index >= group->upto)
            state->declined[state->count_declined++] = row;
        else if (!set_bit(state, &queue, group->bitmap, group->start + index))
            break;
        else
            state->items++;
    }
    set_queued(&queue);
    return row;
}

/* An integer of a column, of 4 or 8 bytes. */
static inline int64_t number_at(const void *column, int64_t width, int64_t row) {
    return width == 4 ? ((const int32_t *)column)[row] : ((const int64_t *)column)[row];
}

/* Does the same with the items `first` to `last`, or `first` where that is NULL, integers of `width` bytes, of
   the groups `numbers`, of which each row has one by its `codes`, or all the first where those are NULL; -1 is no
   group. */
int64_t fanin_fold_numbers(
    State *state, const void *first, const void *last, int64_t width, const int64_t *codes,
    const int64_t *numbers, const uint8_t *skip, int64_t row, int64_t rows
) {
    Queue queue;
    queue.size = 0;
    for (; row < rows && state->count_declined < state->most_declined; row++) {
        int64_t number = numbers[codes ? codes[row] : 0], low = number_at(first, width, row);
        int64_t high = last ? number_at(last, width, row) : low;
        const Group *group = number < 0 || (skip && skip[row]) ? 0 : &state->groups[number];
        if (!group || low < 0 || low > high || high >= group->upto)
            state->declined[state->count_declined++] = row;
        else if (!(last ? set_bits(state, &queue, group->bitmap, group->start + low, group->start + high)
                        : set_bit(state, &queue, group->bitmap, group->start + low)))
            break;
        else
            state->items += high - low + 1;
    }
    set_queued(&queue);
    return row;
}

/* Bytes that are read from `at` on. */
typedef struct {
    const uint8_t *data;
    int64_t at, size;
} Bytes;

/* Reads a number in groups of seven bits; returns 0 if there is none, or it is longer than 63 bits. */
static int read_number(Bytes *bytes, uint64_t *number) {
    *number = 0;
    for (int shift = 0; shift < 63 && bytes->at < bytes->size; shift += 7) {
        uint8_t byte = bytes->data[bytes->at++];
        *number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return 1;
    }
    return 0;
}

/* Reads the value of a field, of a kind of Thrift's compact protocol; returns 0 if a page header has none such.
   `*value`: an integer of 32 bits if it is not negative, FALSE_FLAG, or ABSENT, which stands for any other. */
static int read_value(Bytes *bytes, int kind, int64_t *value) {
    uint64_t number;
    *value = kind == FALSE_KIND ? FALSE_FLAG : ABSENT;
    if (kind == TRUE_KIND || kind == FALSE_KIND) return 1;
    if ((kind != I32_KIND && kind != I64_KIND && kind != BINARY_KIND) || !read_number(bytes, &number)) return 0;
    if (kind == I32_KIND && !(number & 1) && number >> 1 <= INT32_MAX) *value = (int64_t)(number >> 1);
    if (kind != BINARY_KIND) return 1;
    if (number > (uint64_t)(bytes->size - bytes->at)) return 0;
    bytes->at += (int64_t)number;
    return 1;
}

/* Reads the fields of a struct into `fields` by their numbers, and those of the struct that a header with this
   type of page has into the next FIELDS; returns 0 if they are not in order, or not those of a page header. */
static int read_struct(Bytes *bytes, int64_t *fields, int depth) {
    const int of_type[] = {5, 0, 7, 8};
    for (int64_t field = 0; bytes->at < bytes->size;) {
        int head = bytes->data[bytes->at++];
        int64_t value = ABSENT, others[2 * FIELDS];
        if (!head) return 1;
        if (!(head >> 4)) return 0;
        field += head >> 4;
        if ((head & 15) == STRUCT_KIND) {
            int is_of_type = !depth && fields[1] >= 0 && fields[1] < 4 && field == of_type[fields[1]];
            if (depth > 2 || !read_struct(bytes, is_of_type ? fields + FIELDS : others, depth + 1)) return 0;
        } else if (!read_value(bytes, head & 15, &value)) {
            return 0;
        }
        if (field < FIELDS) fields[field] = value;
    }
    return 0;
}

/* Reads the header of a page of Parquet at `at` into `fields`, those of the page and those of its type; returns
   where the page begins, 0 if it has no header that is known. */
int64_t fanin_header(const uint8_t *data, int64_t size, int64_t at, int64_t *fields) {
    Bytes bytes = {data, at, size};
    for (int field = 0; field < 2 * FIELDS; field++) fields[field] = ABSENT;
    return read_struct(&bytes, fields, 0) ? bytes.at : 0;
}

/* Writes the bounds of the texts of a page of Parquet, each after its length; returns whether these are so many
   and fill the page. */
int32_t fanin_bounds(const uint8_t *page, int64_t size, int64_t texts, int32_t *bounds) {
    int64_t at = 0;
    for (int64_t text = 0; text < texts; text++) {
        uint32_t length;
        if (size - at < 4) return 0;
        __builtin_memcpy(&length, page + at, 4);
        at += 4;
        bounds[2 * text] = (int32_t)at;
        bounds[2 * text + 1] = (int32_t)(at += length); /* one beyond the page fails the next comparison */
    }
    return at == size;
}

/* Reads numbers of `width` bits, at most 24, in Parquet's hybrid of runs and packed numbers; returns whether
   these are so many, but for packed ones that some writers add, and fill the `size` bytes. */
int32_t fanin_hybrid(const uint8_t *data, int64_t size, int64_t width, int64_t count, int32_t *numbers) {
    const int64_t bytes = (width + 7) / 8, mask = ((int64_t)1 << width) - 1;
    int64_t at = 0, number = 0;
    while (number < count) {
        uint64_t header = 0;
        for (int shift = 0, more = 1; more; shift += 7) {
            if (at == size || shift > 28) return 0;
            header |= (uint64_t)(data[at] & 0x7F) << shift;
            more = data[at++] >> 7;
        }
        int64_t length = header >> 1, upto;
        if (!length) return 0; /* as Arrow does */
        if (header & 1) {
            if (length * width > size - at) return 0;
            upto = number + length * 8 < count ? number + length * 8 : count;
            for (int64_t bit = at * 8; number < upto; bit += width) {
                uint64_t eight = 0;
                for (int64_t byte = bit >> 3; byte <= (bit + width - 1) >> 3; byte++)
                    eight |= (uint64_t)data[byte] << 8 * (byte - (bit >> 3));
                numbers[number++] = (int32_t)(eight >> (bit & 7) & mask);
            }
            at += length * width;
        } else {
            int32_t value = 0;
            if (length > count - number || bytes > size - at) return 0;
            for (int64_t byte = 0; byte < bytes; byte++) value |= (int32_t)data[at++] << 8 * byte;
            for (upto = number + length; number < upto;) numbers[number++] = value;
        }
    }
    return at == size;
}

/* Copies so many texts, one after another. */
void fanin_copy(const int32_t *bounds, int64_t texts, const uint8_t *data, uint8_t *copy) {
    for (int64_t text = 0; text < texts; text++)
        for (int32_t at = bounds[2 * text]; at < bounds[2 * text + 1]; at++) *copy++ = data[at];
}
