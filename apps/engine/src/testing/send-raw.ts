import { request } from "node:http";

/** Sends a request with headers that `fetch` does not send: several of a name, or another `Host`. */
export async function sendRaw(
  url: string,
  headers: readonly (readonly [name: string, value: string])[],
  { method = "GET", body }: { readonly method?: string; readonly body?: object } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const hasHost = headers.some(([name]) => name.toLowerCase() === "host");
  const all = [
    ...(hasHost ? [] : [["host", new URL(url).host]]),
    ...(text === "" ? [] : [["content-type", "application/json"]]),
    ["content-length", String(Buffer.byteLength(text))],
    ["connection", "close"],
    ...headers,
  ];
  return new Promise((resolve, reject) => {
    request(url, { method, headers: all.flat(), agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0 } = response;
        resolve({ status, text: Buffer.concat(chunks).toString("utf8") });
      });
    })
      .on("error", reject)
      .end(text);
  });
}
