# Writes the texts of FILES, the reference of the ops, as one list of C++ string literals:
# cmake -DOUT=... "-DFILES=a|b" -P reference.cmake
set(text "// Written by cmake/reference.cmake.\n#include \"ops/reference.h\"\n\nnamespace ember {\nconst char* const reference_texts[] = {\n")
string(REPLACE "|" ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  file(READ ${file} content)
  string(APPEND text "R\"ember(${content})ember\",\n")
endforeach()
string(APPEND text "nullptr};\n}  // namespace ember\n")
file(WRITE ${OUT} "${text}")
