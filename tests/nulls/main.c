#include "frame.h"

#include "calls.h"

int main(int argc, char **argv) {
    int passed = 0, failed = 0;
    if (!prepare()) return 1;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        now = &table[i];
        if (argc > 1 && strcmp(argv[1], now->name) != 0) continue;
        int good = 1;
        for (how = FIRST; how < now->parameters; how++) good &= ends_well(0) & ends_well(1);
        passed += good;
        failed += !good;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
