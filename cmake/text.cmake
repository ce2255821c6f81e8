# SPDX-License-Identifier: MIT
# cmake -DOUT=file.c -DNAMES=a;b -DFILES=x;y -P text.cmake: each file as `const char NAME[]`, without
# its includes of our own headers.
set(c "/* SPDX-License-Identifier: MIT */\n/* Made from the sources named below. */\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ ${file} text)
  string(REGEX REPLACE "#include \"[^\n]*\n" "" text "${text}")
  file(WRITE ${OUT}.text "${text}")
  file(READ ${OUT}.text hex HEX)
  file(REMOVE ${OUT}.text)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" hex "${hex}")
  string(APPEND c "extern const char ${name}[];\nconst char ${name}[] = {\n${hex}0};\n")
endforeach()
file(WRITE ${OUT} "${c}")
