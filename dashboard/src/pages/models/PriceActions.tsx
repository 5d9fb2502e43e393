import { Download, FileJson, FileSpreadsheet, History, Upload } from "lucide-react";
import { useState } from "react";
import { ADMIN } from "@/api/client";
import { Menu } from "@/components/Menu";
import { Button } from "@/components/Button";
import { PriceHistory } from "./PriceHistory";
import { PriceImport } from "./PriceImport";

/** Saves a file that the gateway offers as an attachment. */
function download(path: string) {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}

/** Import, export and history of prices. */
export function PriceActions({ writable }: { writable: boolean }) {
  const [open, setOpen] = useState<"import" | "history" | null>(null);
  return (
    <>
      <Menu
        label="Import and export"
        items={[
          ...(writable ? [{ label: "Import…", icon: Upload, run: () => setOpen("import") } as const] : []),
          { label: "Export as JSON", icon: FileJson, run: () => download(`${ADMIN}/model-pricing/export?format=json`) },
          { label: "Export as CSV", icon: FileSpreadsheet, run: () => download(`${ADMIN}/model-pricing/export?format=csv`) },
          "separator",
          { label: "History", icon: History, run: () => setOpen("history") },
        ]}
      >
        <Button icon={Download}>
          <span className="phone:hidden">Import and export</span>
          <span className="hidden phone:inline">Files</span>
        </Button>
      </Menu>
      {open === "import" && <PriceImport onClose={() => setOpen(null)} />}
      {open === "history" && <PriceHistory writable={writable} onClose={() => setOpen(null)} />}
    </>
  );
}
