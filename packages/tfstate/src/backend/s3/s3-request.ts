import type { GetObjectCommandInput } from "@aws-sdk/client-s3";

/** How the SDK takes a signal. */
export function abort(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

export function isMissing(error: unknown): boolean {
  const { name, $metadata } = error as {
    readonly name?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  return (
    name === "NoSuchKey" ||
    name === "NotFound" ||
    ($metadata?.httpStatusCode === 404 && name !== "NoSuchBucket")
  );
}

/** The arguments of objects that are encrypted with a key of the caller. */
export type CustomerKey =
  | Pick<GetObjectCommandInput, "SSECustomerAlgorithm" | "SSECustomerKey">
  | undefined;
