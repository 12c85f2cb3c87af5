import type { Logger } from "@stackwright/base/logger";
import type { StoredKeys } from "@stackwright/core";
import type { TransactionParts } from "../queue/transaction.ts";
import type { OutgoingHosts } from "../vcs/provider/outgoing-hosts.ts";

/** What destinations are served with. */
export interface NotificationParts extends TransactionParts {
  readonly keys: StoredKeys;
  readonly logger: Logger;
  /** Hosts that destinations may be on. */
  readonly hosts: OutgoingHosts;
  /** The address of this server as users see it. */
  readonly origin: () => string;
}
