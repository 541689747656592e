// What lies beside the site's own modules only when the site is written.
declare module "*/strip.js" {
  export default function mount(component: {
    parentElement: HTMLElement;
    data: object;
    setStateValue: (name: string, value: any) => void;
  }): () => void;
}
declare module "*/ort.mjs";
