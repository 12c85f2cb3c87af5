/*
 * The provider of notes as a program that writes all that it is given to its log: as it is, as a structured entry, in
 * a line that is too long for one piece, and byte by byte.
 */
import { getAttribute, type Value } from "@stackwright/cty";
import type { ApplyResourceRequest } from "@stackwright/mux/router";
import { serveLifecycleProvider, serveTerraformProvider } from "@stackwright/tfplugin/serve";
import { createNotesProvider } from "./notes-provider.ts";

/** How long a line may be to be handed on as a whole. */
const PIECE = 64 * 1024;

async function babble(note: Value): Promise<void> {
  const text = note.isKnown && !note.isNull ? getAttribute(note, "text").asString() : "";
  if (text === "") return;
  const [first = ""] = text.split("\n");
  const begin = ".".repeat(PIECE - 5);
  const lines = [
    `the text is ${text}`,
    JSON.stringify({ "@level": "info", "@message": `got ${text}`, text, [first]: [text] }),
    `${begin}${first} behind a long line`,
    "the end",
  ].join("\n");
  for (let at = 0; at < lines.length; at += at < 200 ? 1 : 4000) {
    const chunk = lines.slice(at, at < 200 ? at + 1 : at + 4000);
    await new Promise((done) => process.stderr.write(chunk, done));
  }
  process.stderr.write("\n");
}

const provider = createNotesProvider(process.env.NOTES ?? "");
const babbling = new Proxy(provider, {
  get(target, name) {
    const member: unknown = Reflect.get(target, name, target);
    if (typeof member !== "function") return member;
    return async (request: ApplyResourceRequest, ...rest: unknown[]): Promise<unknown> => {
      if (name === "apply") {
        await babble(request.config);
        // Its last words are part of why the call failed.
        if (process.env.NOTES_DIE !== undefined) process.exit(3);
      }
      return Reflect.apply(member, target, [request, ...rest]);
    };
  },
});
await serveTerraformProvider({
  protocols: { 6: () => serveLifecycleProvider(babbling, { protocol: 6 }) },
});
