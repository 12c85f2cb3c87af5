import { isIP } from "node:net";
import type { Platform } from "@stackwright/provider-source";

/** The file name of an archive, as on plug-in servers of Pulumi. */
export function archiveOf(name: string, version: string, { os, arch }: Platform): string {
  return `pulumi-resource-${name}-v${version}-${os}-${arch}.tar.gz`;
}

/** Whether a server is a URL, and no folder. */
export function isServerUrl(server: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(server);
}

/**
 * Why nothing is fetched from a URL, if so. What is fetched is run, so it comes over a connection that nothing alters, or from this
 * machine.
 */
export function whyUnsafe({ protocol, hostname }: URL): string | undefined {
  const isLoopback =
    hostname === "localhost" ||
    hostname === "[::1]" ||
    (isIP(hostname) === 4 && hostname.startsWith("127."));
  if (protocol === "https:" || (protocol === "http:" && isLoopback)) return undefined;
  return protocol === "http:"
    ? "its server must have an https: URL"
    : `servers have an https: URL or are a folder, and this one is ${protocol}; a release of GitHub is https://github.com/OWNER/REPOSITORY/releases/download/v\${VERSION}`;
}
