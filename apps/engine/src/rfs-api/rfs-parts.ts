import type { StoredKeys } from "@stackwright/core";
import type { BlobStore } from "@stackwright/storage/blob";
import type { Logger } from "pino";
import type { TransactionParts } from "../queue/transaction.ts";
import type { ServedParts } from "../terraform-state/served-state.ts";

/** What the RFS API works with. */
export interface RfsParts extends TransactionParts, ServedParts {
  readonly blobs: BlobStore;
  readonly keys: StoredKeys;
  readonly logger: Logger;
}
