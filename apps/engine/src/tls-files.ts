import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { EngineError } from "@stackwright/core/errors";

/** The files of a certificate and its key. */
interface TlsFileNames {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** What is in the files, in PEM. */
export interface TlsContent {
  readonly cert: string;
  readonly key: string;
}

/** What a watch of the files needs. */
interface TlsWatchOptions {
  readonly logger: Logger;
  readonly scheduler: Clock;
  /** Given what is in the files now; what it throws is logged, and tried again. */
  readonly take: (content: TlsContent) => void;
  /** How often the files are read. @default 10,000 */
  readonly intervalMs?: number | undefined;
}

/** When the first certificate of a chain ends, in milliseconds since 1970. */
export function endOfCertificate(chain: string): number {
  return new X509Certificate(chain).validToDate.getTime();
}

/** `ENGINE_CONFIG_INVALID` for files that cannot be read or are no certificate with its key. */
export async function readTlsFiles(files: TlsFileNames): Promise<TlsContent> {
  try {
    const cert = await readFile(files.certificateFile, "utf8");
    const key = await readFile(files.keyFile, "utf8");
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      `the certificate ${files.certificateFile} cannot be used with the key ${files.keyFile}: ${why}`,
      { cause: error },
    );
  }
}

/**
 * Hands on what is in the files whenever it has changed. The files are read again and again, as they are
 * replaced in many ways: by renaming, by a link to another folder, one after the other. While they do not
 * fit together the old ones stay, and the log says so once.
 */
export function watchTlsFiles(
  files: TlsFileNames,
  first: TlsContent,
  { logger, scheduler, take, intervalMs = 10_000 }: TlsWatchOptions,
): Disposable {
  let current = first;
  let problem = "";
  let isOver = false;
  let timer: Disposable | undefined;
  const look = async (): Promise<void> => {
    try {
      const next = await readTlsFiles(files);
      if (!isOver && (next.cert !== current.cert || next.key !== current.key)) {
        take(next);
        current = next;
        logger.info({ file: files.certificateFile }, "the certificate was replaced");
      }
      problem = "";
    } catch (error) {
      const text = String(error);
      if (text !== problem) {
        logger.warn({ err: error }, "the certificate was not replaced; the old one stays");
      }
      problem = text;
    }
    schedule();
  };
  const schedule = (): void => {
    // Never rejects.
    if (!isOver) timer = scheduler.after(intervalMs, () => void look());
  };
  schedule();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      timer?.[Symbol.dispose]();
    },
  };
}
