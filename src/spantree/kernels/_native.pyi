"""The C++ kernel; see bindings.cpp. Tensors are passed as addresses."""

MAX_ORDER: int
NO_TREE: int
NOT_A_NUMBER: int

def run(
    log_weights: int,
    lengths: int,
    directions: list[int],
    log_partition: int,
    jet: int,
    status: int,
    at_root: int,
    steps: int,
    count: int,
    n: int,
    copies: int,
    real_bytes: int,
    order: int,
    single_root: bool,
    always_wide: bool,
    threads: int,
) -> bool: ...
def sample(
    log_weights: int,
    lengths: int,
    at_root: int,
    steps: int,
    heads: int,
    seed: int,
    count: int,
    n: int,
    samples: int,
    real_bytes: int,
    single_root: bool,
    always_wide: bool,
    method: int,
    threads: int,
) -> None: ...
def random_bits(seed: int, stream: int, first_block: int, count: int) -> list[int]: ...
def decode(
    log_weights: int,
    lengths: int,
    heads: int,
    scores: int,
    status: int,
    count: int,
    n: int,
    trees: int,
    real_bytes: int,
    single_root: bool,
    threads: int,
) -> bool: ...
def label(
    log_weights: int,
    lengths: int,
    trees: int,
    heads: int,
    labels: int,
    scores: int,
    ranks: int,
    items: int,
    n: int,
    kinds: int,
    real_bytes: int,
    threads: int,
) -> None: ...
def instruction_sets() -> list[str]: ...
def use_instruction_set(name: str) -> None: ...
