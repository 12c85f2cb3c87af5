import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import process from "node:process";

/**
 * Lets TLS connections of the process trust the authorities of `SSL_CERT_FILE` and the folders of `SSL_CERT_DIR`. Both
 * together replace the built-in ones, one of them adds to these, as for Go programs on a system with the usual folders. Those of
 * `NODE_EXTRA_CA_CERTS`, which Node reads itself, are trusted in any case. Throws for a file that cannot be read.
 */
export function trustAuthorities(env: NodeJS.ProcessEnv): void {
  const file = env["SSL_CERT_FILE"] ?? "";
  const folders = (env["SSL_CERT_DIR"] ?? "").split(delimiter).filter((one) => one !== "");
  if (file === "" && folders.length === 0) return;
  const found = [
    ...(file === "" ? [] : certificatesOf(required(file))),
    ...folders.flatMap((folder) =>
      namesIn(folder).flatMap((name) => certificatesOf(readable(join(folder, name)))),
    ),
  ];
  // Loaded here: most commands open no connection, and this module takes as long to load as they do.
  const { getCACertificates, setDefaultCACertificates } = process.getBuiltinModule("node:tls");
  const alone = file !== "" && folders.length > 0;
  // File and folder mostly have the same ones, and each costs time to read.
  const different = [...new Set(found)];
  const others = getCACertificates(alone ? "extra" : "default");
  setDefaultCACertificates([...others, ...different]);
}

function certificatesOf(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function required(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`The file "${file}" of SSL_CERT_FILE cannot be read.`, { cause: error });
  }
}

function readable(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Folders, and links of authorities that were removed.
    return "";
  }
}

/** Files of a folder. Names by digest are links to files of the same folder, which are read anyway. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isSymbolicLink() && isNeighbour(readlinkSync(join(folder, entry.name)))
        ? []
        : [entry.name],
    );
  } catch {
    return [];
  }
}

function isNeighbour(target: string): boolean {
  return basename(target) === target;
}
