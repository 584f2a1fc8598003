/* What drawings are written with: numbers and text as SVG, the same bytes on every machine and in every locale. */
#ifndef TN_CLI_SVG_TEXT_H
#define TN_CLI_SVG_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Okabe and Ito's colours that stand on white, told apart by the colour-blind. */
enum { TN_I_SVG_COLOURS = 7 };
extern const char *const tn_i_svg_colour[TN_I_SVG_COLOURS];

/* To hundredths, at least 0. */
void tn_i_svg_number(FILE *out, double x);
/* " name='x'" */
void tn_i_svg_attribute(FILE *out, const char *name, double x);
/* At most `room` characters of any text, as XML; '?' for what XML has no way to say. */
void tn_i_svg_text(FILE *out, const char *text, size_t room);
/* A text element: begun, with more attributes, or whole, of at most 60 characters. */
void tn_i_svg_begin_text(FILE *out, double x, double y, const char *more);
void tn_i_svg_label(FILE *out, double x, double y, const char *more, const char *text);
void tn_i_svg_line(FILE *out, double x0, double y0, double x1, double y1, const char *more);
/* The head of a drawing: its size, its title and a white ground. */
void tn_i_svg_open(FILE *out, int width, int height, int font, const char *title);
/* 1, 2 or 5 times a power of ten: the smallest with at most `wanted` steps to x. */
uint64_t tn_i_svg_step(double x, int wanted);

#endif
