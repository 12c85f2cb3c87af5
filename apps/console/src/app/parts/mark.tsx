/** Shapes that say the same as a color, for those who do not see it. */
export type MarkShape =
  | "check"
  | "cross"
  | "triangle"
  | "diamond"
  | "ring"
  | "half"
  | "dash"
  | "split";

const PATHS: Readonly<Record<MarkShape, string>> = {
  check: "M2.5 6.5 5 9l4.5-6",
  cross: "m3 3 6 6M9 3 3 9",
  triangle: "M6 2 10.5 10h-9zM6 5v2.4M6 8.9v.2",
  diamond: "M6 1.5 10.5 6 6 10.5 1.5 6z",
  ring: "M6 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8",
  half: "M6 2a4 4 0 1 0 4 4",
  dash: "M2.5 6h7",
  split: "M2 6h3l4-4M5 6l4 4",
};

export function Mark({ shape }: { readonly shape: MarkShape }) {
  return (
    <svg className="mark" viewBox="0 0 12 12" aria-hidden="true" focusable="false">
      <path d={PATHS[shape]} />
    </svg>
  );
}
