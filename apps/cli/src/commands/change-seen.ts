import { isClientError } from "@stackwright/client";

/** How often a change that met another one is made again. */
const ATTEMPTS = 5;

/** Changes what was read just before by its version; where another user changed it in between, what that left. */
export async function changeSeen<T>(
  read: () => Promise<{ readonly etag?: string | undefined }>,
  change: (ifMatch: string) => Promise<{ readonly data: T }>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    // What has no version yet is named by a star.
    const { etag = "*" } = await read();
    try {
      return (await change(etag)).data;
    } catch (error) {
      if (attempt === ATTEMPTS || !isClientError(error, "changed")) throw error;
    }
  }
}
