// Powers and logarithms of our own, from + - * / only, so that every compiler
// and C library gives the same bits. (The C library's differ in the last one.)
//
// Exact to about 1e-14 relative where the result is a normal double.

#ifndef HARDWARE_MATH_H_
#define HARDWARE_MATH_H_

namespace hardware {

// Logarithm to base 2. REQUIRES: x > 0, finite
double Log2(double x);

// 2 to the power of y. REQUIRES: -1000 < y < 1000
double Exp2(double y);

// x to the power of p; 0 to a positive power is 0.
// REQUIRES: x >= 0, finite; p > 0; the result is within 2^-1000 ... 2^1000 or x is 0
double Pow(double x, double p);

// How many pieces of size `piece` cover `whole`. Exact for whole numbers below 2^53; above, a piece more or
// less is below what a double can tell. REQUIRES: whole >= 0, piece > 0
double Cover(double whole, double piece);

// (a^p + b^p)^(1/p): the larger of both when p is large, their sum when p is 1.
// Never overflows where the result does not. REQUIRES: a, b >= 0; p >= 1
double PowerMean(double a, double b, double p);

}  // namespace hardware

#endif  // HARDWARE_MATH_H_
