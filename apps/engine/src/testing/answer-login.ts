import { type RequestOptions, request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { expect } from "vitest";

/** The address that a command prints for a browser. */
export const LOGIN_ADDRESS = /https:\/\/localhost:\d+\/oauth\/authorize\?\S+/;

/** Signs in with a token at the page that a command names, as a browser does, and takes the answer to the command. */
export async function answerLogin(address: string, token: string, ca: Buffer): Promise<void> {
  const page = await send(address, { ca });
  expect([page.status, page.text]).toEqual([200, expect.stringContaining("Sign in for a command")]);
  const form = new URL(address).searchParams;
  form.set("token", token);
  const answer = await send(address, { ca, method: "POST" }, form.toString());
  expect(answer.status).toBe(303);
  // The command may end its listener before the answer is there.
  await send(answer.location, {}).catch(() => undefined);
}

async function send(
  address: string,
  options: RequestOptions & { readonly ca?: Buffer },
  body = "",
) {
  const request = address.startsWith("https:") ? requestTls : requestPlain;
  return new Promise<{ status: number; text: string; location: string }>((resolve, reject) => {
    const sent = request(address, options, (answer) => {
      let text = "";
      answer.on("data", (chunk) => {
        text += String(chunk);
      });
      const { statusCode: status = 0, headers } = answer;
      answer.on("end", () => resolve({ status, text, location: headers.location ?? "" }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
