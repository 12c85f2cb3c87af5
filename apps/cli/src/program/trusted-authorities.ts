import { readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { CommandError } from "../command-error.ts";

/**
 * Lets TLS connections of the process trust the authorities of `SSL_CERT_FILE` and the folders of `SSL_CERT_DIR`. Both
 * together replace the built-in ones, one of them adds to these, as for Go programs on a system with the usual folders.
 * `CommandError` for a file that cannot be read.
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
  setDefaultCACertificates(alone ? found : [...getCACertificates("default"), ...found]);
}

function certificatesOf(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function required(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CommandError(`The file "${file}" of SSL_CERT_FILE cannot be read.`, { cause: error });
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
