import { cp, mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { listPackEntries, writeArchive } from "@stackwright/provider-source";
import { build } from "esbuild";

const FOLDER = join(import.meta.dirname, "..");

const CONTENT_TYPES = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="json" ContentType="application/json"/><Default Extension="cjs" ContentType="application/javascript"/><Default Extension="md" ContentType="text/markdown"/><Default Extension="txt" ContentType="text/plain"/><Default Extension="vsixmanifest" ContentType="text/xml"/></Types>
`;

/** Where the project is for everybody, as manifests name it. */
export interface Address {
  readonly repository?: unknown;
  readonly homepage?: unknown;
  readonly bugs?: unknown;
}

/**
 * Writes the extension as one file that VS Code installs. Equal sources give equal bytes.
 *
 * @returns the names of the files in it
 */
export async function packageExtension(
  output: string,
  version: string,
  address: Address = {},
): Promise<string[]> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-vscode-"));
  const extension = join(scratch.path, "extension");
  await mkdir(extension);
  const manifest = JSON.parse(await readFile(join(FOLDER, "extension.json"), "utf8")) as Manifest;
  const text = `${JSON.stringify({ ...manifest, ...address, version }, undefined, 2)}\n`;
  await writeFile(join(extension, "package.json"), text);
  for (const name of ["language-configuration.json", "syntaxes", "README.md"]) {
    await cp(join(FOLDER, name), join(extension, name), { recursive: true });
  }
  await cp(join(FOLDER, "LICENSE"), join(extension, "LICENSE.txt"));
  const { metafile } = await build({
    entryPoints: [join(FOLDER, "src/extension.ts")],
    outfile: join(extension, "extension.cjs"),
    bundle: true,
    minify: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    metafile: true,
    legalComments: "none",
    logLevel: "silent",
    absWorkingDir: FOLDER,
  });
  await writeFile(
    join(extension, "THIRD-PARTY.txt"),
    await licensesOf(Object.keys(metafile.inputs)),
  );
  await writeFile(join(scratch.path, "[Content_Types].xml"), CONTENT_TYPES);
  await writeFile(join(scratch.path, "extension.vsixmanifest"), vsixManifest(manifest, version));
  const entries = await listPackEntries(scratch.path);
  await writeArchive(output, entries);
  return entries.map(({ path }) => path).toSorted();
}

interface Manifest {
  readonly name: string;
  readonly displayName: string;
  readonly publisher: string;
  readonly description: string;
  readonly categories: readonly string[];
  readonly keywords: readonly string[];
  readonly engines: { readonly vscode: string };
}

function vsixManifest(manifest: Manifest, version: string): string {
  const { name, displayName, publisher, description, categories, keywords, engines } = manifest;
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}"/>
    <DisplayName>${displayName}</DisplayName>
    <Description xml:space="preserve">${description}</Description>
    <Tags>${keywords.join(",")}</Tags>
    <Categories>${categories.join(",")}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${engines.vscode}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
}

/** The license texts of the packages that are in the bundle. */
async function licensesOf(inputs: readonly string[]): Promise<string> {
  const folders = new Set<string>();
  for (const input of inputs) {
    const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(join(FOLDER, input)) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  const texts: string[] = [];
  for (const folder of [...folders].toSorted()) {
    const { name, version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
      readonly name: string;
      readonly version: string;
    };
    const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} brings no license (${dirname(folder)})`);
    texts.push(`${name} ${version}\n\n${await readFile(join(folder, file), "utf8")}`);
  }
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
