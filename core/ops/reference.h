// What the docstrings of ops say beyond the line of EMBER_OP: more words, what arguments mean,
// examples. It lies beside the ops, in reference/*.md, so that a word changed there compiles one
// file and costs an import nothing. ember/_reference.py says how these texts are written, and reads
// them.
#pragma once

namespace ember {

extern const char* const reference_texts[];  // one for each file, then nullptr

}  // namespace ember
