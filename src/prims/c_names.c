/* Names that a C program may not give to a function of its own. */
#include "prims/c_text.h"

#include <string.h>

/* Keywords of C and C++, what the headers of C99 declare, common functions of POSIX, and what compilers define in modes
 * of their own; a space around each. */
static const char *const taken[] = {
    " BUFSIZ CHAR_BIT EDOM EILSEQ EOF ERANGE FILE HUGE_VAL HUGE_VALF HUGE_VALL INFINITY NAN NULL RAND_MAX abort ",
    " abs access acos acosf acosh acoshf acoshl acosl alarm alignas aligned_alloc alignof and and_eq asctime asin ",
    " asinf asinh asinhf asinhl asinl asm assert at_quick_exit atan atan2 atan2f atan2l atanf atanh atanhf atanhl ",
    " atanl atexit atof atoi atol atoll atomic_bool auto basename bcmp bcopy bind bitand bitor bool break brk ",
    " bsearch btowc bzero cabs cabsf cabsl cacos cacosf cacosh cacoshf cacoshl cacosl calloc carg cargf cargl case ",
    " casin casinf casinh casinhf casinhl casinl catan catanf catanh catanhf catanhl catanl catch cbrt cbrtf cbrtl ",
    " ccos ccosf ccosh ccoshf ccoshl ccosl ceil ceilf ceill cexp cexpf cexpl char char16_t char32_t char8_t chdir ",
    " chmod chown cimag cimagf cimagl class clearerr clock clock_t clog clogf clogl close co_await co_return ",
    " co_yield compl complex concept conj conjf conjl connect const const_cast consteval constexpr constinit ",
    " continue copysign copysignf copysignl cos cosf cosh coshf coshl cosl cpow cpowf cpowl cproj cprojf cprojl ",
    " creal crealf creall creat csin csinf csinh csinhf csinhl csinl csqrt csqrtf csqrtl ctan ctanf ctanh ctanhf ",
    " ctanhl ctanl ctime decltype default delete difftime dirname div div_t dlclose dlerror dlopen dlsym do double ",
    " double_t drem dremf dreml dup dup2 dynamic_cast else enum environ erf erfc erfcf erfcl erff erfl errno execl ",
    " execv execve execvp exit exp exp10 exp2 exp2f exp2l expf expl explicit expm1 expm1f expm1l export extern ",
    " fabs fabsf fabsl false far fchmod fclose fcntl fdim fdimf fdiml fdopen feclearexcept fegetenv ",
    " fegetexceptflag fegetround feholdexcept fenv_t feof feraiseexcept ferror fesetenv fesetexceptflag fesetround ",
    " fetestexcept feupdateenv fexcept_t fflush ffs fgetc fgetpos fgets fgetwc fgetws fileno finite float float_t ",
    " floor floorf floorl fma fmaf fmal fmax fmaxf fmaxl fmin fminf fminl fmod fmodf fmodl fopen for fork ",
    " fpclassify fpos_t fprintf fputc fputs fputwc fputws fread free freopen frexp frexpf frexpl friend fscanf ",
    " fseek fsetpos fstat fsync ftell ftruncate fwide fwprintf fwrite fwscanf gamma gammaf gammal getc getchar ",
    " getcwd getenv getline getopt getpid gets getuid getwc getwchar gmtime goto hypot hypotf hypotl i386 if ilogb ",
    " ilogbf ilogbl imaginary imaxabs imaxdiv imaxdiv_t index inline int int16_t int32_t int64_t int8_t ",
    " int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t int_least32_t int_least64_t int_least8_t ",
    " intmax_t intptr_t ioctl isalnum isalpha isatty isblank iscntrl isdigit isfinite isgraph isgreater ",
    " isgreaterequal isinf isless islessequal islessgreater islower isnan isnormal isprint ispunct isspace ",
    " isunordered isupper iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint ",
    " iswpunct iswspace iswupper iswxdigit isxdigit j0 j0f j0l j1 j1f j1l jmp_buf jn jnf jnl kill labs lconv ldexp ",
    " ldexpf ldexpl ldiv ldiv_t lgamma lgammaf lgammal link linux listen llabs lldiv lldiv_t llrint llrintf ",
    " llrintl llround llroundf llroundl localeconv localtime log log10 log10f log10l log1p log1pf log1pl log2 ",
    " log2f log2l logb logbf logbl logf logl long longjmp lrint lrintf lrintl lround lroundf lroundl lseek lstat ",
    " main malloc mblen mbrlen mbrtowc mbsinit mbsrtowcs mbstate_t mbstowcs mbtowc memccpy memchr memcmp memcpy ",
    " memmem memmove mempcpy memset mkdir mknod mkstemp mktime mmap modf modff modfl mprotect munmap mutable ",
    " namespace nan nanf nanl near nearbyint nearbyintf nearbyintl new nextafter nextafterf nextafterl nexttoward ",
    " nexttowardf nexttowardl nice noexcept noreturn not not_eq nullptr offsetof open openat opendir operator ",
    " optarg optind or or_eq pause pclose perror pipe poll popen posix_memalign pow pow10 powf powl pread printf ",
    " private protected pthread_create pthread_join pthread_self ptrdiff_t public putc putchar putenv puts putwc ",
    " putwchar pwrite qsort quick_exit raise rand random read readdir readlink realloc recv register ",
    " reinterpret_cast remainder remainderf remainderl remove remquo remquof remquol rename requires restrict ",
    " return rewind rindex rint rintf rintl rmdir round roundf roundl sbrk scalb scalbln scalblnf scalblnl scalbn ",
    " scalbnf scalbnl scanf select send setbuf setenv setjmp setlocale setvbuf short shutdown sig_atomic_t ",
    " sigaction signal signbit signed signgam significand sin sincos sinf sinh sinhf sinhl sinl size_t sizeof ",
    " sleep snprintf socket sprintf sqrt sqrtf sqrtl srand srandom sscanf stat static static_assert static_cast ",
    " stderr stdin stdout stpcpy stpncpy strcat strchr strcmp strcoll strcpy strcspn strdup strerror strftime ",
    " strlen strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr strtod strtof ",
    " strtoimax strtok strtol strtold strtoll strtoul strtoull strtoumax struct strxfrm switch swprintf swscanf ",
    " symlink sync syscall system tan tanf tanh tanhf tanhl tanl template tgamma tgammaf tgammal this thread_local ",
    " throw time time_t times timespec timespec_get tm tmpfile tmpnam tolower toupper towctrans towlower towupper ",
    " true trunc truncate truncf truncl try typedef typeid typename typeof typeof_unqual uint16_t uint32_t ",
    " uint64_t uint8_t uint_fast16_t uint_fast32_t uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t ",
    " uint_least64_t uint_least8_t uintmax_t uintptr_t umask uname ungetc ungetwc union unix unlink unsigned using ",
    " usleep utime va_arg va_copy va_end va_list va_start valloc vfprintf vfscanf vfwprintf vfwscanf virtual void ",
    " volatile vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wait waitpid wchar_t ",
    " wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsftime wcslen wcsncat wcsncmp wcsncpy wcspbrk wcsrchr ",
    " wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull ",
    " wcstoumax wcsxfrm wctob wctomb wctrans wctrans_t wctype wctype_t while wint_t wmemchr wmemcmp wmemcpy ",
    " wmemmove wmemset wprintf write wscanf xor xor_eq y0 y0f y0l y1 y1f y1l yn ynf ynl ",
};

static bool is_taken(const char *name) {
    const size_t n = strlen(name);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        for (const char *at = strstr(taken[i], name); at; at = strstr(at + 1, name))
            if (at[-1] == ' ' && at[n] == ' ') return true;
    return false;
}

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

const char *tn_i_c_refuses(const char *name) {
    if (!letter(name[0]) && name[0] != '_') return "no identifier";
    for (const char *s = name; *s; s++)
        if (!letter(*s) && *s != '_' && !(*s >= '0' && *s <= '9')) return "no identifier";
    if (strlen(name) > 100) return "longer than 100 characters";
    if (name[0] == '_') return "one of those that begin with '_', which C keeps for itself";
    if (strncmp(name, "tansy_", 6) == 0 || strcmp(name, "tansy") == 0) return "one of those that Tansy gives itself";
    if (is_taken(name)) return "a keyword, or a name of the C library";
    return NULL;
}
