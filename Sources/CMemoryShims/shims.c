//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "CMemoryShims.h"

static _Thread_local int user_code_depth;

int *_Nonnull cms_user_code_depth(void) { return &user_code_depth; }
