// The shims are header-only; a C target needs one source file.
#include "CMemoryShims.h"
