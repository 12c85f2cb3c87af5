import { realpathSync } from "node:fs";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ServerError } from "../domain/server-error.ts";
import { isPrivateAddress } from "./provider/bounded-fetch.ts";

/**
 * The protocol that git speaks with a repository. `unprocessable` for an address in the clear, for credentials in one, and for a folder
 * of this machine that the operator did not allow.
 */
export function protocolOf(
  address: string,
  localFolders: readonly string[],
): "https" | "http" | "file" {
  const url = parsed(address);
  if (url.username !== "" || url.password !== "") {
    throw new ServerError("unprocessable", "an address holds no credentials; use the token");
  }
  if (url.protocol === "file:") {
    if (url.host === "" && isAllowed(folderOf(url), localFolders)) return "file";
    throw new ServerError(
      "unprocessable",
      "repositories of the server's own machine have to lie in a folder that its operator names (--vcs-folder)",
    );
  }
  requirePrivate(url);
  return url.protocol === "https:" ? "https" : "http";
}

/** `unprocessable` for an address that is not reached over TLS, unless it is of this machine. */
export function requirePrivateAddress(address: string): URL {
  const url = parsed(address);
  if (url.username !== "" || url.password !== "") {
    throw new ServerError("unprocessable", "an address holds no credentials; use the token");
  }
  requirePrivate(url);
  return url;
}

function requirePrivate(url: URL): void {
  if (isPrivateAddress(url)) return;
  throw new ServerError("unprocessable", `${url.origin} is not reached over TLS; use https`);
}

function parsed(address: string): URL {
  const url = URL.parse(address);
  if (url === null) throw new ServerError("unprocessable", `"${address}" is not a URL`);
  return url;
}

function folderOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw new ServerError("unprocessable", `"${url.href}" is not the address of a folder`);
  }
}

/** The real path counts, so that no link leads elsewhere. */
function isAllowed(folder: string, localFolders: readonly string[]): boolean {
  try {
    const real = realpathSync(folder);
    return localFolders.some((allowed) => {
      const root = realpathSync(allowed);
      return real === root || real.startsWith(root + sep);
    });
  } catch {
    return false;
  }
}
