/* Memory of workspaces from the system's large pages, where it offers them. */
#ifndef TN_PAGES_H
#define TN_PAGES_H

#include "base/base.h"

/* As tn_i_alloc.  Of blocks of many pages the system is asked to make the first touch cheap: a page of 4 KiB costs four
 * times as much to enter alone as within a large one (docs/execution.md).  Freed by tn_i_free. */
void *tn_i_workspace_alloc(tn_ctx *c, size_t bytes);

#endif
