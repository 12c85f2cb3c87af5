import type { Measured } from "@stackwright-bench/figures";
import type { Curve } from "./curves.ts";

const WIDTH = 640;
const HEIGHT = 360;
/** Room for the labels of the axes, the heading and the key. */
const LEFT = 72;
const RIGHT = 24;
const TOP = 64;
const BOTTOM = 48;

/** Colours that differ for those who see red and green alike; the shapes differ as well. */
const LINES = [
  { color: "#0a6ebd", dash: "", mark: (x: number, y: number) => circle(x, y) },
  { color: "#b45309", dash: "6 4", mark: (x: number, y: number) => square(x, y) },
] as const;

/** How a cost grows, as SVG: ours and the baseline over the size, both axes logarithmic, with the range of the rounds. */
export function plot(curve: Curve): string {
  const lines = [
    curve.points.map(({ size, ours }) => ({ size, measured: ours })),
    curve.points.map(({ size, baseline }) => ({ size, measured: baseline })),
  ];
  const values = lines.flatMap((line) => line.flatMap(({ measured }) => bounds(measured)));
  const x = scale(
    curve.points.map(({ size }) => size),
    LEFT,
    WIDTH - RIGHT,
  );
  const y = scale(decades(values), HEIGHT - BOTTOM, TOP);
  const parts = [
    `<text x="${LEFT}" y="20" font-weight="bold">${escape(curve.name)}, ${escape(curve.unit)}</text>`,
    ...decades(values).map(
      (value) =>
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(value))}" y2="${at(y(value))}" stroke="#8884"/>` +
        `<text x="${LEFT - 8}" y="${at(y(value) + 4)}" text-anchor="end">${number(value)}</text>`,
    ),
    ...curve.points.map(
      ({ size }) =>
        `<text x="${at(x(size))}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${number(size)}</text>`,
    ),
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 8}" text-anchor="middle">${escape(curve.of)}</text>`,
    ...lines.flatMap((line, index) => {
      const { color, dash, mark } = LINES[index] ?? LINES[0];
      const path = line.map(({ size, measured }) => `${at(x(size))},${at(y(measured.middle))}`);
      return [
        `<g stroke="${color}" fill="${color}">`,
        `<polyline points="${path.join(" ")}" fill="none" stroke-width="2" stroke-dasharray="${dash}"/>`,
        ...line.map(({ size, measured }) => {
          const [least, most] = bounds(measured).map(y);
          return `<line x1="${at(x(size))}" x2="${at(x(size))}" y1="${at(least)}" y2="${at(most)}"/>${mark(x(size), y(measured.middle))}`;
        }),
        mark(LEFT + 6 + index * 280, 40),
        "</g>",
        `<text x="${LEFT + 18 + index * 280}" y="44">${escape(line[0]?.measured.subject ?? "")}</text>`,
      ];
    }),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(curve.name)}"`,
    ' font-family="system-ui, sans-serif" font-size="13">',
    // A ground of its own: the page around it may be light or dark.
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    '<g fill="#1f2328">',
    ...parts,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

function bounds({ middle, least = middle, most = middle }: Measured): readonly [number, number] {
  return [least, most];
}

/** Powers of ten around the values. */
function decades(values: readonly number[]): number[] {
  const logs = values.filter((value) => value > 0).map(Math.log10);
  const first = Math.floor(Math.min(...logs));
  const last = Math.max(first + 1, Math.ceil(Math.max(...logs)));
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

/** Places on a logarithmic axis. */
function scale(values: readonly number[], from: number, to: number): (value: number) => number {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(Math.log10);
  const width = (most ?? 0) - (least ?? 0) || 1;
  return (value) =>
    from + ((Math.log10(Math.max(value, Number.MIN_VALUE)) - (least ?? 0)) / width) * (to - from);
}

function circle(x: number, y: number): string {
  return `<circle cx="${at(x)}" cy="${at(y)}" r="4"/>`;
}

function square(x: number, y: number): string {
  return `<rect x="${at(x - 4)}" y="${at(y - 4)}" width="8" height="8"/>`;
}

function at(value: number | undefined): string {
  return (value ?? 0).toFixed(1);
}

function number(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
