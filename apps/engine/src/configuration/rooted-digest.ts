import { createHash } from "node:crypto";

/** The digest of a configuration version: that of its files, and of the folder that its root module is in, where that is not the first. */
export function rootedDigest(files: string, root: string): string {
  if (root === "") return files;
  return createHash("sha256").update(`root\0${root}\0${files}`).digest("hex");
}
