# SPDX-License-Identifier: MIT
# Which MPI a mpi.h belongs to. As a script, for tests: cmake -DKSWEEP_MPI_H=FILE -P Mpi.cmake

# ks_mpi_of(<mpi.h> name_out version_out)
function(ks_mpi_of header name_out version_out)
  set(name "an unknown MPI")
  set(version "")
  file(STRINGS ${header} lines
    REGEX "^#[ \t]*define[ \t]+(OMPI_(MAJOR|MINOR|RELEASE)_VERSION|I_MPI_VERSION|MVAPICH2?_VERSION|MPICH_VERSION|CRAY_MPICH_VERSION)[ \t]")
  foreach(row "OMPI_MAJOR_VERSION;Open MPI" "I_MPI_VERSION;Intel MPI" "MVAPICH2_VERSION;MVAPICH2"
      "MVAPICH_VERSION;MVAPICH" "CRAY_MPICH_VERSION;Cray MPICH" "MPICH_VERSION;MPICH")
    list(GET row 0 macro)
    list(GET row 1 title)
    if(lines MATCHES "define[ \t]+${macro}[ \t]+\"?([0-9][0-9A-Za-z.]*)")
      set(name "${title}")
      set(version "${CMAKE_MATCH_1}")
      break()
    endif()
  endforeach()
  if(name STREQUAL "Open MPI")
    foreach(part MINOR RELEASE)
      if(lines MATCHES "define[ \t]+OMPI_${part}_VERSION[ \t]+([0-9]+)")
        string(APPEND version ".${CMAKE_MATCH_1}")
      endif()
    endforeach()
  endif()
  set(${name_out} "${name}" PARENT_SCOPE)
  set(${version_out} "${version}" PARENT_SCOPE)
endfunction()

# ks_check_mpi(<directory>..): says which MPI was found; any but Open MPI from 4.1 on is an error,
# because ranks find each other, and outlive each other, by what only its launcher does.
function(ks_check_mpi)
  foreach(dir IN LISTS ARGN)
    if(EXISTS ${dir}/mpi.h)
      ks_mpi_of(${dir}/mpi.h name version)
      if(NOT name STREQUAL "Open MPI" OR version VERSION_LESS 4.1)
        message(FATAL_ERROR "MPI: found ${name} ${version} (${dir}/mpi.h), but only Open MPI 4.1 "
          "and 5 are supported: install it (docs/install.md), or name its compiler with "
          "-DMPI_C_COMPILER=/path/to/mpicc")
      endif()
      message(STATUS "MPI: ${name} ${version} (${dir}/mpi.h); supported are Open MPI 4.1 and 5")
      set(KSWEEP_MPI_TEXT "${name} ${version}" PARENT_SCOPE)
      if(version VERSION_GREATER_EQUAL 6)
        message(WARNING "Open MPI ${version} is newer than what ksweep was tried with (4.1, 5)")
      endif()
      return()
    endif()
  endforeach()
  message(WARNING "MPI: no mpi.h in '${ARGN}'; only Open MPI 4.1 and 5 are supported")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  get_filename_component(dir ${KSWEEP_MPI_H} DIRECTORY)
  ks_check_mpi(${dir})
endif()
