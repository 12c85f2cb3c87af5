import { chmodSync, chownSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Account } from "./account.ts";

/** A new private folder for one server, owned by the account that the server runs as. */
export function createScratchFolder(
  name: string,
  options: { readonly parent?: string | undefined; readonly account?: Account | undefined } = {},
): string {
  const folder = mkdtempSync(join(options.parent ?? tmpdir(), `stackwright-${name}-`));
  chmodSync(folder, 0o700);
  if (options.account) chownSync(folder, options.account.uid, options.account.gid);
  return folder;
}
