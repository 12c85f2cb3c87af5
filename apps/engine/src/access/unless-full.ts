import { isRegistryError } from "@stackwright/registry";
import { ServerError } from "../domain/server-error.ts";

/** A new credential; `unprocessable`, and why, where its owner has as many as may be. */
export async function unlessFull<T>(making: Promise<T>): Promise<T> {
  try {
    return await making;
  } catch (error) {
    if (!isRegistryError(error) || error.code !== "REGISTRY_QUOTA_EXCEEDED") throw error;
    throw new ServerError("unprocessable", error.message, { cause: error });
  }
}
