// Fitted figures are written with four digits, so that is what they are.

#ifndef SCENARIOS_CALIBRATION_FOUR_DIGITS_H_
#define SCENARIOS_CALIBRATION_FOUR_DIGITS_H_

namespace scenarios {

// The nearest number of four digits; 0 of what is not above zero.
double FourDigits(double value);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_FOUR_DIGITS_H_
