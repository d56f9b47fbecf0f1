// What code is made of the rows of primitives.h with: a macro for each argument of a row.
#pragma once

// EMBER_JOINED(f, a, b, c) is f(a), f(b), f(c), and EMBER_EACH the same without commas, for up
// to 20.
#define EMBER_PARENS ()
#define EMBER_AGAIN(...) EMBER_AGAIN1(EMBER_AGAIN1(EMBER_AGAIN1(EMBER_AGAIN1(__VA_ARGS__))))
#define EMBER_AGAIN1(...) EMBER_AGAIN2(EMBER_AGAIN2(EMBER_AGAIN2(EMBER_AGAIN2(__VA_ARGS__))))
#define EMBER_AGAIN2(...) __VA_ARGS__
#define EMBER_JOINED(f, ...) __VA_OPT__(EMBER_AGAIN(EMBER_JOINED_(f, __VA_ARGS__)))
#define EMBER_JOINED_(f, first, ...) \
  f(first) __VA_OPT__(, EMBER_JOINED_NEXT EMBER_PARENS(f, __VA_ARGS__))
#define EMBER_JOINED_NEXT() EMBER_JOINED_
#define EMBER_EACH(f, ...) __VA_OPT__(EMBER_AGAIN(EMBER_EACH_(f, __VA_ARGS__)))
#define EMBER_EACH_(f, first, ...) f(first) __VA_OPT__(EMBER_EACH_NEXT EMBER_PARENS(f, __VA_ARGS__))
#define EMBER_EACH_NEXT() EMBER_EACH_

// Of the arguments of a row: as parameters, their names, and as values that know their role (Given,
// in operands.h).
#define EMBER_PARAMETERS(...) EMBER_JOINED(EMBER_PARAMETER, __VA_ARGS__)
#define EMBER_PARAMETER(argument) EMBER_PARAMETER_ argument
#define EMBER_PARAMETER_(role, type, name) type name
#define EMBER_NAMES(...) EMBER_JOINED(EMBER_NAME, __VA_ARGS__)
#define EMBER_NAME(argument) EMBER_NAME_ argument
#define EMBER_NAME_(role, type, name) name
#define EMBER_GIVEN(...) EMBER_JOINED(EMBER_GIVEN_ONE, __VA_ARGS__)
#define EMBER_GIVEN_ONE(argument) EMBER_GIVEN_ argument
#define EMBER_GIVEN_(role, type, name) \
  Given<Role::role, std::remove_cvref_t<type>> { #name, name }

// In a device's class: the primitives that it has.
#define EMBER_HAS(...) EMBER_EACH(EMBER_HAS_, __VA_ARGS__)
#define EMBER_HAS_(name) primitive::name name;
