import type { CallContext } from "@stackwright/proto/grpc";
import { StorageError } from "../../errors.ts";
import type { Grant } from "./grant.ts";

/**
 * Tells what a token allows; `undefined` refuses it. The token is what follows `Bearer ` in the
 * metadata `authorization`, or `undefined` when there is none. It may reject with
 * `STORAGE_PERMISSION_DENIED` where it can say more of a refusal.
 */
export type Authorize = (
  token: string | undefined,
) => Grant | undefined | Promise<Grant | undefined>;

/** What the caller may do. Rejects with `STORAGE_PERMISSION_DENIED` for tokens that are refused. */
export async function grantOf(context: CallContext, authorize: Authorize): Promise<Grant> {
  const [header] = context.metadata.get("authorization");
  const token =
    typeof header === "string" && header.startsWith("Bearer ") ? header.slice(7) : undefined;
  const grant = await authorize(token);
  if (grant !== undefined) return grant;
  const why = token === undefined ? "no token was given" : "the token is not known";
  throw new StorageError("STORAGE_PERMISSION_DENIED", why);
}
