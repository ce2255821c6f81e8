# SPDX-License-Identifier: MIT
# cmake -DMANIFEST=install_manifest.txt -P uninstall.cmake: removes the files that were installed last, and
# directories that are empty then.
if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "${MANIFEST} is not there: nothing was installed from this build directory")
endif()
file(STRINGS "${MANIFEST}" files)
set(directories)
foreach(file IN LISTS files)
  set(file "$ENV{DESTDIR}${file}")
  if(EXISTS "${file}" OR IS_SYMLINK "${file}")
    file(REMOVE "${file}")
  else()
    message(STATUS "not there: ${file}")
  endif()
  get_filename_component(dir "${file}" DIRECTORY)
  while(dir MATCHES "ksweep") # never one that others share
    list(APPEND directories "${dir}")
    get_filename_component(dir "${dir}" DIRECTORY)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES directories)
list(SORT directories ORDER DESCENDING) # the deepest first
foreach(dir IN LISTS directories)
  file(GLOB left "${dir}/*")
  if(IS_DIRECTORY "${dir}" AND NOT left)
    file(REMOVE_RECURSE "${dir}")
  endif()
endforeach()
