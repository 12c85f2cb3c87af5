import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";

/**
 * Bundles the toy provider into one file and makes folders in which it is the program of a provider, for each protocol:
 * as the publisher of a provider does.
 */
export async function buildToyFolders(root: string): Promise<Readonly<Record<5 | 6, string>>> {
  const bundle = await rolldown({
    input: join(import.meta.dirname, "toy-provider.ts"),
    platform: "node",
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  const [{ code }] = output;
  const folderOf = async (protocol: 5 | 6): Promise<string> => {
    const folder = join(root, `protocol-${protocol}`);
    await mkdir(folder, { recursive: true });
    const only = `process.argv[2] = "${protocol}";\n`;
    const text = `#!${process.execPath}\n${only}${code}`;
    // Without a package.json beside it Node takes the syntax of the file for what it is.
    await writeFile(join(folder, "terraform-provider-toy"), text, { mode: 0o755 });
    return folder;
  };
  return { 5: await folderOf(5), 6: await folderOf(6) };
}
