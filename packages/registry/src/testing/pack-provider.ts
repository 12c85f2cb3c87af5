import { type PackEntry, packArchive } from "@stackwright/provider-source";

/** An archive of a provider that does nothing, unless its executable is given. */
export async function packProvider(
  type: string,
  executable: Uint8Array = Buffer.from("#!/bin/sh\nexit 1\n"),
  mode = 0o755,
): Promise<Buffer> {
  const entries: PackEntry[] = [
    { path: `terraform-provider-${type}`, mode, content: executable },
    { path: "LICENSE", mode: 0o644, content: Buffer.from("free\n") },
  ];
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive(entries)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
