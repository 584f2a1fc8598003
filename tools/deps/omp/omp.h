/* An OpenMP build of BLIS includes omp.h in blis.h without using anything of it.
 * This one is found last (-idirafter): only by a clang that comes without libomp. */
