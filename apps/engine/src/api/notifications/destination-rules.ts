import { NotificationDestination_Kind } from "@stackwright/proto/stackwright";
import type { Static } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { requireMailServer, shownMailServer } from "../../notify/mail-server.ts";
import type { OutgoingHosts } from "../../vcs/provider/outgoing-hosts.ts";
import { requirePrivateAddress } from "../../vcs/repository-address.ts";
import type { DestinationChange } from "./notification-view.ts";

/** `unprocessable` for what destinations of a kind do not have. */
export function requireOfKind(
  kind: NotificationDestination_Kind,
  given: Pick<Static<typeof DestinationChange>, "from" | "to" | "secret">,
): void {
  const { KIND_EMAIL, KIND_WEBHOOK } = NotificationDestination_Kind;
  if (kind !== KIND_EMAIL && (given.from !== undefined || given.to !== undefined)) {
    throw new ServerError("unprocessable", "only a destination of the kind email has from and to");
  }
  if (kind !== KIND_WEBHOOK && given.secret !== undefined) {
    throw new ServerError(
      "unprocessable",
      "chats and mails take no signatures, so that they have no secret",
    );
  }
}

/**
 * What may be shown of an address: that of a chat is itself a secret, and a query may hold one. `unprocessable` for an address that the
 * server may not call.
 */
export function shownUrl(
  hosts: OutgoingHosts,
  address: string,
  kind: NotificationDestination_Kind,
): string {
  if (kind === NotificationDestination_Kind.KIND_EMAIL) {
    return shownMailServer(requireMailServer(hosts, address));
  }
  const url = requirePrivateAddress(address);
  hosts.require(url);
  if (kind === NotificationDestination_Kind.KIND_SLACK) return `${url.origin}/…`;
  return `${url.origin}${url.pathname}${url.search === "" ? "" : "?…"}`;
}
