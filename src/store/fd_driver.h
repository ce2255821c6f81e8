/* SPDX-License-Identifier: MIT */
/* fd_driver.h - an HDF5 file on an open descriptor. The library's own driver wants a path, so it
 * can not write a file that has no name yet, locks it (which fails on many network file systems),
 * and hides errno. Private to src/store. */
#ifndef KS_STORE_FD_DRIVER_H
#define KS_STORE_FD_DRIVER_H

#include <hdf5.h>

/* fd is borrowed and must stay open as long as the file. create: its content is thrown away.
 * Returns < 0 with HDF5's error stack filled. */
hid_t ks_fd_create(int fd);
hid_t ks_fd_open(int fd); /* read only */

#endif
