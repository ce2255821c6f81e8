# SPDX-License-Identifier: MIT
# What is installed beside the programs: documents, man pages, completion; how to uninstall; a Debian
# package (cpack -G DEB in the build directory).

install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN measured EXCLUDE)

# Man pages and completion are what the programs say of themselves.
set(documented ksweep-worker)
if(NOT KSWEEP_WORKER_ONLY)
  set(documented ksweep ksweep-worker ksweep-analyze ksweep-profiler)
endif()
foreach(program IN LISTS documented)
  install(CODE "
    foreach(row \"man;${program}.1\" \"bash;${program}\")
      list(GET row 0 kind)
      list(GET row 1 file)
      execute_process(COMMAND \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program}\" help --\${kind}
        OUTPUT_FILE \"${CMAKE_BINARY_DIR}/documents/\${kind}/\${file}\" RESULT_VARIABLE rc)
      if(rc)
        message(FATAL_ERROR \"${program} help --\${kind} ended with \${rc}\")
      endif()
    endforeach()")
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/documents/man ${CMAKE_BINARY_DIR}/documents/bash)
  install(FILES ${CMAKE_BINARY_DIR}/documents/man/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/documents/bash/${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
    -P ${CMAKE_SOURCE_DIR}/cmake/uninstall.cmake
  COMMENT "Removing what install_manifest.txt lists" VERBATIM)

set(CPACK_PACKAGE_NAME ksweep)
set(CPACK_PACKAGE_VENDOR "the ksweep authors")
set(CPACK_PACKAGE_CONTACT "the ksweep authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measure GPU and CPU kernel instances at cluster scale")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Libraries as dpkg-shlibdeps finds them (package dpkg-dev); kernels are compiled where they run.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "gcc | c-compiler, libc6-dev")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "clang, lld, slurm-client")
include(CPack)
