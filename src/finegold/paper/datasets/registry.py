"""The registry of data sets: names, counts, checksums and addresses."""

from __future__ import annotations

from dataclasses import dataclass

from finegold.errors import InputError

__all__ = ["FILES", "DataSet", "add", "data_set", "data_sets"]

FILES = ("label.csv", "truth.csv")
SOURCE = (
    "https://raw.githubusercontent.com/JuJuCHEN-HHU/CodeForFGBCC/3d1a21686dc710bbbf196504adb7802b4ceb6e2b/datasets/"
)


@dataclass(frozen=True)
class DataSet:
    """An entry of the registry. The counts are those of the paper's Table 3."""

    name: str
    title: str
    domain: str
    n_tasks: int
    n_annotators: int
    n_truths: int
    n_classes: int
    n_labels: int
    sha256: dict[str, str]  # file name -> checksum
    address: str = ""  # address of the folder with the two files; empty if it cannot be fetched

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """Numbers of tasks, annotators, truths, classes and labels."""
        return self.n_tasks, self.n_annotators, self.n_truths, self.n_classes, self.n_labels

    @property
    def is_papers(self) -> bool:
        return self in _PAPER

    @property
    def source_folder(self) -> str:
        """Name of the folder at its source."""
        return self.address.rstrip("/").rpartition("/")[2]


def _paper(
    title: str, domain: str, counts: tuple[int, int, int, int, int], folder: str, label: str, truth: str
) -> DataSet:
    sums = dict(zip(FILES, (label, truth), strict=True))
    return DataSet(title.lower(), title, domain, *counts, sha256=sums, address=f"{SOURCE}{folder}/")


# In the order of the paper's Table 3: tasks, annotators, truths, classes, labels.
_PAPER = [
    _paper(
        *("Val7", "Sentiment", (100, 38, 100, 7, 1_000), "valence7"),
        label="3654bd7e4180c2b55440740c32fe908338d9a80a256d36a497dfcb65107df3f7",
        truth="cd2f61bdd7d5cc583a13db30ae1494e3438c15622f892611eee7ce41377cc870",
    ),
    _paper(
        *("Aircr", "Image", (593, 50, 593, 6, 1_588), "aircrowd6"),
        label="aa3864871a7cb322fa4507f2dcdfe0d0c6153333fedb3decdd7fa9802884d9df",
        truth="ceeee3f28c7a55978b6e10213bb00303dbd893a9005fd8f5a824fe45e9c0dcc7",
    ),
    _paper(
        *("CF", "Sentiment", (300, 461, 300, 5, 1_720), "CF"),
        label="b0f98ddc9afefffcaf9670f591a3441b1bfc3eab70f8e4c35746310962920f06",
        truth="8d8f1b773b310fa91e550658ef88baedc4c522ccd395a1ffa9c185327b88080f",
    ),
    _paper(
        *("Fact", "Text", (42_624, 57, 576, 3, 214_915), "fact_eval"),
        label="13bf72ca9c63ed1646a75109358acd5458908f7a14f6b85e2bb50f4abc1a0bdb",
        truth="5e0ea8af9d225cd4d03e175d279e5ab00958c6f74c3ebf85b068a271a83ad741",
    ),
    _paper(
        *("MS", "Audio", (700, 44, 700, 10, 2_945), "MS"),
        label="4e59b88dbe48a0cd545a745c9718f3955729205d29da1bf883adc64bf7a3e378",
        truth="981c635d5cde03cd903bf319b030178420bc8aa3b6a3b7846abea4e974bc2294",
    ),
    _paper(
        *("Dog", "Image", (807, 109, 807, 4, 8_070), "s4_Dog_data"),
        label="c240c0efc442e4936b35f28424d66fb04e687c0f29b254af94c26e15a71aa820",
        truth="b299494a7aba3cf5abcd3b0e002f6e899f3e1f1d864a26703325db355555cb76",
    ),
    _paper(
        *("Face", "Image", (584, 27, 584, 4, 5_242), "s4_Face_Sentiment_Identification"),
        label="fc10f625183432f6ed82d783ec0afb4a2e79009843a1c20757baad5c4e469686",
        truth="503987498b22b586a34bd9211cce88bf4fbb436396ccae3fd5e19a64a5a8dee9",
    ),
    _paper(
        *("Adult", "Level", (11_040, 825, 333, 4, 89_799), "s5_AdultContent"),
        label="61985f3c5bf0ab25ca7c8b1b9e4da80457a559dda1e62cf95daa9d4f34915e86",
        truth="1c52c5d528d16e031360d87ce384a80611bf23dedd5c7cfddf2c8ffc058772cb",
    ),
    _paper(
        *("Senti", "Sentiment", (98_980, 1_960, 1_000, 5, 569_274), "sentiment"),
        label="31e16268ae71c0af1ce09f2ea56b1b8a70786d2bd1af23701c4e2342b8d4b425",
        truth="26b6526a8ff541c86abbf57fa8736e0b4aea007c16bea4b0170cfd23ac5866e5",
    ),
    _paper(
        *("Val5", "Sentiment", (100, 38, 100, 5, 1_000), "valence5"),
        label="88642fccf917d5abae48b725466b00b121771d32cca1d4019da058343caa5b8a",
        truth="5f3ff6387d6bafd34f9b68823729ac8aa2d3b78da49fb32f3a2edf55d290d29c",
    ),
    _paper(
        *("Web", "Relevance", (2_665, 177, 2_653, 5, 15_567), "web"),
        label="90b6e66284288079fab48593c61fb7949f964d007fce077b13d21d0b7ab43211",
        truth="1b215fe642b88107fc07c0f4b9169b70e178f3a65f76926ea1fbeb86fd688c4d",
    ),
]
_REGISTRY = {entry.name: entry for entry in _PAPER}


def data_sets() -> dict[str, DataSet]:
    """Return all registered data sets by name, the paper's eleven first."""
    return dict(_REGISTRY)


def data_set(name: str) -> DataSet:
    """Return the registered data set of this name (case-insensitive)."""
    if name.lower() not in _REGISTRY:
        raise InputError(f"there is no data set {name!r}; choose from {', '.join(_REGISTRY)}")
    return _REGISTRY[name.lower()]


def add(entry: DataSet) -> DataSet:
    if entry.name.lower() != entry.name or not entry.name.isidentifier() or entry.name in _REGISTRY:
        raise InputError(
            f"{entry.name!r} is not a valid data set name: use a new name of lower-case letters, digits and _"
        )
    _REGISTRY[entry.name] = entry
    return entry
