"""The old home of `ember.hub.load_state_dict_from_url`."""

from ember.hub import (
    _import_dotted_name as _import_dotted_name,
    load_state_dict_from_url,
    load_state_dict_from_url as load_url,
    tqdm as tqdm,
)

__all__ = ["load_state_dict_from_url", "load_url"]
