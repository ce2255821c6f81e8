/* SPDX-License-Identifier: MIT */
/* When the loop of a rank turns next. */
#include "mpi/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

int main(void){return 0;}
