/** Vite plugin that cuts the fonts to the characters and weights that the dashboard uses. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import subsetFont from "subset-font";
import type { Plugin } from "vite";

const require = createRequire(import.meta.url);

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)).join("");
const ASCII = range(0x20, 0x7e) + "–…·•";

/** Inter comes in two files: the second is only loaded by pages that show one of its characters. */
const FONTS = [
  { name: "inter", file: "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2", text: ASCII + "’“”−≈→↑↓", max: 600, features: ["kern", "tnum", "cv05"] },
  { name: "inter-accents", file: "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2", text: range(0xa1, 0xb6) + range(0xb8, 0xff) + "—‘€", max: 600, features: ["kern"] },
  { name: "jetbrains-mono", file: "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2", text: ASCII + "—", max: 500, features: [] },
];

async function cut(directory: string, font: (typeof FONTS)[number]) {
  const target = join(directory, `${font.name}.woff2`);
  const source = require.resolve(font.file);
  const present = statSync(target, { throwIfNoEntry: false });
  if (present && present.mtimeMs > statSync(source).mtimeMs && ["../package-lock.json", "fonts.ts"].every((name) => present.mtimeMs > statSync(new URL(name, import.meta.url)).mtimeMs)) return;
  const bytes = await subsetFont(readFileSync(source), font.text, {
    targetFormat: "woff2",
    keepFeatures: font.features,
    variationAxes: { wght: { min: 400, max: font.max, default: 400 } },
  });
  writeFileSync(target, bytes);
}

/** Makes the files of FONTS available to CSS as `@fonts/<name>.woff2`. */
export function fonts(): Plugin {
  const directory = join(process.cwd(), "node_modules", ".fonts");
  return {
    name: "gatehouse-fonts",
    config: async () => {
      mkdirSync(directory, { recursive: true });
      await Promise.all(FONTS.map((font) => cut(directory, font)));
      return { resolve: { alias: { "@fonts": directory } } };
    },
  };
}
